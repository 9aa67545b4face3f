#include "server_error.h"

#include <idem/retry.hpp>

#include <string_view>

namespace idem::client {
namespace {

std::string field(const PGresult *result, int code)
{
    const char *value = result != nullptr ? PQresultErrorField(result, code) : nullptr;
    return value != nullptr ? value : "";
}

} // namespace

std::string connection_error(const PGconn *connection)
{
    std::string text = PQerrorMessage(connection);
    // There is a user as soon as the string could be read. A slash in a URI's password makes the rest of it a port.
    const char *port = PQport(connection);
    const bool is_number =
        port == nullptr || std::string_view(port).find_first_not_of("0123456789") == std::string::npos;
    if (PQuser(connection) != nullptr && is_number) {
        return text;
    }
    constexpr std::string_view kMissing = "missing \"=\" after ";
    const std::size_t begin = text.find('"', text.starts_with(kMissing) ? kMissing.size() : 0);
    if (begin != std::string::npos) {
        text.replace(begin, text.rfind('"') + 1 - begin, "\"...\"");
    }
    return text;
}

std::string one_line(const char *text)
{
    std::string line;
    bool space = false;
    for (const char c : std::string_view(text != nullptr ? text : "")) {
        if (c == '\n' || c == '\t' || c == ' ') {
            space = !line.empty();
            continue;
        }
        if (space) {
            line += ' ';
            space = false;
        }
        line += c;
    }
    return line;
}

Failure failure_of(const PGconn *connection, const PGresult *result)
{
    Failure failure{field(result, PG_DIAG_SQLSTATE), field(result, PG_DIAG_MESSAGE_PRIMARY),
                    field(result, PG_DIAG_MESSAGE_DETAIL), field(result, PG_DIAG_MESSAGE_HINT)};
    const bool lost = PQstatus(connection) == CONNECTION_BAD;
    if (failure.sqlstate.empty()) {
        failure.detail = one_line(PQerrorMessage(connection));
        failure.message = lost ? "connection lost" : "libpq could not do what was asked";
        failure.sqlstate = lost ? "08006" : "XX000";
    } else if (lost && action_after(failure.sqlstate) == Action::never) {
        // The last words of a pooler, for instance, are 08P01.
        failure = {
            "08006", "connection lost", "The server said: " + failure.message + " (" + failure.sqlstate + ").", {}};
    }
    return failure;
}

} // namespace idem::client
