#pragma once

#include "command.hpp"
#include "wire.h"

#include <idem/transaction.hpp>

#include <initializer_list>

namespace idem::cli {

/// A connection that only reads, on a standby too, in one transaction with settings that make values the same
/// everywhere: UTF-8, UTC, ISO dates. All that it does together ends within --timeout, or within a second more,
/// whatever the network does.
class Database {
public:
    /// Connects where libpq would, its environment and service file included. Throws client::Error.
    explicit Database(const Connection &connection);

    /// Runs a query. Throws client::Error, 57014 where the time is over.
    client::Rows query(const std::string &statement, std::initializer_list<client::Parameter> parameters = {});

    /// The schema given, else the extension's, else that of a ledger which search_path shows, ready for a statement.
    /// Throws client::Error where there is none.
    std::string quoted_schema(const std::string &given);

private:
    client::Deadline deadline_;
    client::ConnectionPtr connection_;
    client::Wire wire_;
};

} // namespace idem::cli
