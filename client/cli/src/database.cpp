#include "database.hpp"

#include "connect.h"
#include "hosts.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <vector>

namespace idem::cli {
namespace {

client::Deadline deadline_of(const Connection &connection)
{
    return connection.timeout > 0 ? client::Deadline::after(connection.limit()) : client::Deadline::never();
}

// The connect_timeout of the connection string, the service file or the environment; libpq takes 0 for none.
std::chrono::milliseconds connect_timeout(const client::ConnectionParameters &host)
{
    int seconds = 0;
    for (const auto &[keyword, value] : host) {
        if (keyword == "connect_timeout") {
            std::from_chars(value.data(), value.data() + value.size(), seconds);
        }
    }
    return std::chrono::seconds(std::max(seconds, 0));
}

// Connects to the first host that lets it in; a silent one keeps none from being tried.
client::ConnectionPtr connect(const Connection &connection, client::Deadline deadline)
{
    // What reads may read on a standby, unless the user asks for another server: the library's own choice is a primary.
    ::setenv("PGTARGETSESSIONATTRS", "any", 0);
    const std::vector<client::ConnectionParameters> hosts = client::resolve_hosts(connection.dsn);
    client::Names names;
    return client::connect(hosts, names, connect_timeout(hosts.front()), deadline);
}

} // namespace

Database::Database(const Connection &connection)
    : deadline_(deadline_of(connection)), connection_(connect(connection, deadline_)),
      wire_(connection_.get(), deadline_)
{
    query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    query("SELECT pg_catalog.set_config('TimeZone', 'UTC', true), pg_catalog.set_config('DateStyle', 'ISO', true)");
}

client::Rows Database::query(const std::string &statement, std::initializer_list<client::Parameter> parameters)
{
    std::vector<const char *> values;
    for (const client::Parameter &parameter : parameters) {
        if (!parameter.complete()) {
            throw client::Error("22021", "a value holds a zero octet, which no text of PostgreSQL can");
        }
        values.push_back(parameter.c_str());
    }
    return client::Rows(wire_
                            .run({.text = statement.c_str(),
                                  .count = static_cast<int>(values.size()),
                                  .values = values.data(),
                                  .result_format = 0})
                            .release());
}

std::string Database::quoted_schema(const std::string &given)
{
    const client::Rows rows = query("SELECT pg_catalog.quote_ident(coalesce($1,"
                                    " (SELECT n.nspname::text FROM pg_catalog.pg_extension AS e"
                                    "  JOIN pg_catalog.pg_namespace AS n ON n.oid = e.extnamespace"
                                    "  WHERE e.extname = 'idem'),"
                                    " (SELECT n.nspname::text FROM pg_catalog.pg_class AS c"
                                    "  JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace"
                                    "  WHERE c.oid = pg_catalog.to_regclass('idem_transactions'))))",
                                    {given.empty() ? client::Parameter(std::nullopt) : client::Parameter(given)});
    const std::optional<std::string_view> schema = rows.at(0, 0);
    if (!schema) {
        throw client::Error("42704", "the extension idem is not in this database", {},
                            "CREATE EXTENSION idem makes it; --schema names the schema of a ledger that is left.");
    }
    return std::string(*schema);
}

} // namespace idem::cli
