#include "database.hpp"

#include <server_error.h> // idem::client::connection_error

#include <stdexcept>

namespace idem::verify {

namespace {

// The text of a value, which is not NULL.
std::string text(const PGresult *result, int row, int column)
{
    return {PQgetvalue(result, row, column), static_cast<std::size_t>(PQgetlength(result, row, column))};
}

// Tenant, operation and key, which are the first three columns.
Scope scope_of(const PGresult *result, int row)
{
    return Scope{text(result, row, 0), text(result, row, 1), text(result, row, 2)};
}

} // namespace

Database::Database(const std::string &conninfo) : connection_(PQconnectdb(conninfo.c_str()), &PQfinish)
{
    if (PQstatus(connection_.get()) != CONNECTION_OK || PQsetClientEncoding(connection_.get(), "UTF8") != 0) {
        throw std::runtime_error(client::connection_error(connection_.get()));
    }
    PQsetNoticeProcessor(
        connection_.get(), [](void *, const char *) {}, nullptr);
    // Whatever the role's search_path is, names mean PostgreSQL's own.
    run("SELECT pg_catalog.set_config('search_path', 'pg_catalog', false)");
    const Result schema = run("SELECT n.nspname FROM pg_extension AS e "
                              "JOIN pg_namespace AS n ON n.oid = e.extnamespace WHERE e.extname = 'idem'");
    if (PQntuples(schema.get()) != 1) {
        throw std::runtime_error("the database does not have the extension idem");
    }
    idem_schema_ = text(schema.get(), 0, 0);
}

std::string Database::conninfo(std::map<std::string, std::string> replaced) const
{
    // Of a password file libpq would not know for which host it is.
    replaced.emplace("password", PQpass(connection_.get()));
    const std::unique_ptr<PQconninfoOption, void (*)(PQconninfoOption *)> options(PQconninfo(connection_.get()),
                                                                                  &PQconninfoFree);
    std::string text;
    for (const PQconninfoOption *option = options.get(); option != nullptr && option->keyword != nullptr; option++) {
        const auto other = replaced.find(option->keyword);
        const std::string value = other != replaced.end() ? other->second : (option->val == nullptr ? "" : option->val);
        if (!value.empty()) {
            text += (text.empty() ? "" : " ") + std::string(option->keyword) + "='";
            for (const char letter : value) {
                text += letter == '\\' || letter == '\'' ? "\\" : "";
                text += letter;
            }
            text += '\'';
        }
    }
    return text;
}

std::pair<std::string, std::string> Database::address() const
{
    return {PQhost(connection_.get()), PQport(connection_.get())};
}

bool Database::is_encrypted() const noexcept
{
    return PQsslInUse(connection_.get()) != 0 || PQgssEncInUse(connection_.get()) != 0;
}

void Database::make_business_table(const std::string &schema)
{
    run("CREATE SCHEMA " + quoted(schema));
    run("CREATE TABLE " + quoted(schema) +
        ".posting (tenant_id text COLLATE \"C\" NOT NULL, operation text COLLATE \"C\" NOT NULL, "
        "key text COLLATE \"C\" NOT NULL, transaction_id uuid NOT NULL, amount_minor bigint NOT NULL, "
        "process text COLLATE \"C\" NOT NULL, number bigint NOT NULL)");
}

void Database::drop_business_table(const std::string &schema)
{
    run("DROP SCHEMA " + quoted(schema) + " CASCADE");
}

Tables Database::read_tables(const std::string &tenant, const std::string &schema)
{
    run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    // An index that a crash has damaged must not hide a row.
    for (const char *setting : {"enable_indexscan", "enable_indexonlyscan", "enable_bitmapscan"}) {
        run("SELECT set_config($1, 'off', true)", {setting});
    }
    const Result ledger =
        run("SELECT tenant_id, operation, idempotency_key, id, amount_minor, currency, details, order_ref FROM " +
                quoted(idem_schema_) + ".idem_transactions WHERE left(tenant_id, length($1)) = $1",
            {tenant});
    const Result business =
        run("SELECT tenant_id, operation, key, transaction_id, amount_minor, process, number FROM " + quoted(schema) +
            ".posting");
    run("COMMIT");

    Tables tables;
    for (int row = 0; row < PQntuples(ledger.get()); row++) {
        const PGresult *result = ledger.get();
        Row &stored =
            tables.rows.emplace_back(Row{scope_of(result, row), text(result, row, 3), std::stoll(text(result, row, 4)),
                                         text(result, row, 5), text(result, row, 6)});
        if (PQgetisnull(result, row, 7) == 0) {
            stored.order_ref = text(result, row, 7);
        }
    }
    for (int row = 0; row < PQntuples(business.get()); row++) {
        const PGresult *result = business.get();
        tables.postings.push_back(Posting{scope_of(result, row), text(result, row, 3), std::stoll(text(result, row, 4)),
                                          text(result, row, 5), std::stoull(text(result, row, 6))});
    }
    return tables;
}

bool Database::terminate_session(const std::string &application_name, std::uint64_t which)
{
    const Result sessions = run("SELECT pid FROM pg_stat_activity WHERE application_name = $1 "
                                "AND usename = current_user AND pid <> pg_backend_pid() ORDER BY pid",
                                {application_name});
    const int count = PQntuples(sessions.get());
    if (count == 0) {
        return false;
    }
    const std::string pid = text(sessions.get(), static_cast<int>(which % static_cast<std::uint64_t>(count)), 0);
    const Result ended = run("SELECT pg_terminate_backend($1)", {pid});
    return text(ended.get(), 0, 0) == "t";
}

Database::Result Database::run(const std::string &statement, const std::vector<std::string> &parameters)
{
    std::vector<const char *> values;
    values.reserve(parameters.size());
    for (const std::string &parameter : parameters) {
        values.push_back(parameter.c_str());
    }
    Result result(PQexecParams(connection_.get(), statement.c_str(), static_cast<int>(values.size()), nullptr,
                               values.data(), nullptr, nullptr, 0),
                  &PQclear);
    const ExecStatusType status = PQresultStatus(result.get());
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
        throw std::runtime_error(PQerrorMessage(connection_.get()));
    }
    return result;
}

std::string Database::quoted(const std::string &name) const
{
    const std::unique_ptr<char, void (*)(void *)> text(PQescapeIdentifier(connection_.get(), name.data(), name.size()),
                                                       &PQfreemem);
    return text.get();
}

// The schema's name is made by the play, of letters, digits and underscores.
std::string insert_posting(const std::string &schema)
{
    return "INSERT INTO " + schema +
           ".posting (tenant_id, operation, key, transaction_id, amount_minor, process, number) "
           "VALUES ($1, $2, $3, $4::uuid, $5::bigint, $6, $7::bigint)";
}

} // namespace idem::verify
