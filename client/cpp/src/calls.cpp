#include "calls.h"

#include "raise.h"

namespace idem::client {
namespace {

// The name with quotes and a dot behind it, or nothing.
std::string prefix(const std::string &schema)
{
    if (schema.empty()) {
        return {};
    }
    std::string quoted = "\"";
    for (const char c : schema) {
        if (c == '\0') {
            raise({"22023", "the name of the schema must not contain NUL"});
        }
        quoted += c;
        if (c == '"') {
            quoted += c;
        }
    }
    return quoted + "\".";
}

// A text as a literal, whatever standard_conforming_strings says.
std::string literal(const std::string &text)
{
    std::string quoted = " E'";
    for (const char c : text) {
        if (c == '\'' || c == '\\') {
            quoted += c;
        }
        quoted += c;
    }
    return quoted + "'";
}

} // namespace

Calls::Calls(const std::string &schema)
{
    const std::string in = prefix(schema);
    const std::string columns =
        "SELECT transaction_id, outcome, amount_minor, currency, details, order_ref, created_at ";
    const std::string many = in + "idem_create_transactions";
    create = columns + "FROM " + in + "idem_create_transaction($1, $2, $3, $4, $5, $6, $7)";
    try_create = columns + "FROM " + in + "idem_try_create_transaction($1, $2, $3, $4, $5, $6, $7)";
    create_many =
        "SELECT ord, outcome, transaction_id, sqlstate, created_at FROM " + many + "($1, $2, $3, $4, $5, $6, $7, $8)";
    has_create_many = "SELECT pg_catalog.to_regprocedure(" +
                      literal(many + "(text[],text[],bigint[],text[],jsonb[],text[],text[],text)") + ") IS NOT NULL";
    version = "SELECT " + in + "idem_version()";
}

} // namespace idem::client
