#include "database.hpp"

#include <server_error.h> // idem::client::connection_error

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace idem::cli {
namespace {

// What libpq says, without the line end that it puts behind.
std::string trimmed(std::string text)
{
    while (!text.empty() && text.back() == '\n') {
        text.pop_back();
    }
    return text;
}

std::string field(const PGresult *result, int code)
{
    const char *text = PQresultErrorField(result, code);
    return text == nullptr ? std::string() : std::string(text);
}

// libpq waits at least 2 seconds, whatever it is told.
std::string whole_seconds(double timeout)
{
    return std::to_string(static_cast<int>(std::ceil(timeout)));
}

PGconn *connect(const Connection &connection)
{
    const std::string limit = whole_seconds(connection.timeout);
    // The first keyword holds a whole connection string; those behind it win over what that says.
    const std::array<const char *, 4> keywords{"dbname", "client_encoding",
                                               connection.timeout > 0 ? "connect_timeout" : nullptr, nullptr};
    const std::array<const char *, 4> values{connection.dsn.c_str(), "UTF8", limit.c_str(), nullptr};
    return PQconnectdbParams(keywords.data(), values.data(), 1);
}

} // namespace

Database::Database(const Connection &connection) : connection_(connect(connection), &PQfinish)
{
    if (PQstatus(connection_.get()) != CONNECTION_OK) {
        throw client::Error("08001", trimmed(client::connection_error(connection_.get())));
    }
    query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    query("SELECT pg_catalog.set_config('TimeZone', 'UTC', true), pg_catalog.set_config('DateStyle', 'ISO', true)");
    if (connection.timeout > 0) {
        query("SELECT pg_catalog.set_config('statement_timeout', $1, true)",
              {static_cast<std::int64_t>(std::ceil(connection.timeout * 1000))});
    }
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
    client::Rows rows(PQexecParams(connection_.get(), statement.c_str(), static_cast<int>(values.size()), nullptr,
                                   values.data(), nullptr, nullptr, 0));
    const ExecStatusType status = PQresultStatus(rows.native());
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
        const std::string state = field(rows.native(), PG_DIAG_SQLSTATE);
        if (state.empty()) {
            throw client::Error("08006", trimmed(PQerrorMessage(connection_.get())));
        }
        throw client::Error(state, field(rows.native(), PG_DIAG_MESSAGE_PRIMARY),
                            field(rows.native(), PG_DIAG_MESSAGE_DETAIL), field(rows.native(), PG_DIAG_MESSAGE_HINT));
    }
    return rows;
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
