#pragma once

#include "records.hpp"

#include <libpq-fe.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace idem::verify {

/// A connection of the checker itself: plain libpq, so that the proof does not lean on what it proves.
class Database {
public:
    /// Connects, and finds the schema of the extension. Throws std::runtime_error, also where the extension is missing.
    explicit Database(const std::string &conninfo);

    /// The schema of the extension.
    [[nodiscard]] const std::string &idem_schema() const noexcept { return idem_schema_; }

    /// A connection string for others that leads where this one leads, with the password that it used.
    /// Some options are replaced; one that is replaced by an empty text is left out.
    [[nodiscard]] std::string conninfo(std::map<std::string, std::string> replaced) const;
    /// Where the server is: a host's name, address or folder, and a port.
    [[nodiscard]] std::pair<std::string, std::string> address() const;
    /// Whether what is sent is encrypted.
    [[nodiscard]] bool is_encrypted() const noexcept;

    /// Makes a schema with the business table in it.
    void make_business_table(const std::string &schema);
    /// Drops that schema.
    void drop_business_table(const std::string &schema);

    /// All rows of the tenants that begin so, and all business rows, read from the tables themselves and not from
    /// their indexes, in one snapshot.
    [[nodiscard]] Tables read_tables(const std::string &tenant, const std::string &schema);

    /// Ends some session of this role that has the application name. Returns false where there was none.
    bool terminate_session(const std::string &application_name, std::uint64_t which);

private:
    using Result = std::unique_ptr<PGresult, void (*)(PGresult *)>;
    Result run(const std::string &statement, const std::vector<std::string> &parameters = {});
    [[nodiscard]] std::string quoted(const std::string &name) const;

    std::unique_ptr<PGconn, void (*)(PGconn *)> connection_;
    std::string idem_schema_;
};

/// The statement that writes a business row: tenant, operation, key, transaction, amount, process, number.
[[nodiscard]] std::string insert_posting(const std::string &schema);

} // namespace idem::verify
