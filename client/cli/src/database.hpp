#pragma once

#include "command.hpp"

#include <idem/transaction.hpp>

#include <libpq-fe.h>

#include <initializer_list>
#include <memory>

namespace idem::cli {

/// A connection that only reads, on a standby too, in one transaction with settings that make values the same
/// everywhere: UTF-8, UTC, ISO dates.
class Database {
public:
    /// Connects as libpq does, its environment and service file included. Throws client::Error.
    explicit Database(const Connection &connection);

    /// Runs a query. Throws client::Error.
    client::Rows query(const std::string &statement, std::initializer_list<client::Parameter> parameters = {});

    /// The schema given, else the extension's, else that of a ledger which search_path shows, ready for a statement.
    /// Throws client::Error where there is none.
    std::string quoted_schema(const std::string &given);

private:
    std::unique_ptr<PGconn, void (*)(PGconn *)> connection_;
};

} // namespace idem::cli
