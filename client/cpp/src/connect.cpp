#include "connect.h"

#include "raise.h"
#include "server_error.h"

#include <idem/retry.hpp>

#include <cctype>
#include <cerrno>
#include <optional>
#include <poll.h>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>

namespace idem::client {
namespace {

// Until the connection stands, libpq tells a SQLSTATE only inside its text: `FATAL:  28P01: password ...`.
std::string sqlstate_in(std::string_view text)
{
    constexpr std::string_view kBefore = ":  ";
    constexpr std::size_t kLength = 5;
    for (std::size_t at = text.find(kBefore); at != std::string_view::npos; at = text.find(kBefore, at + 1)) {
        const std::string_view code = text.substr(at + kBefore.size(), kLength + 1);
        const bool is_code = code.size() == kLength + 1 && code.back() == ':' &&
                             code.find_first_not_of("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") == kLength;
        if (is_code) {
            return std::string(code.substr(0, kLength));
        }
    }
    return {};
}

// The text without the lines that name a place in the server's source: `LOCATION:  auth_failed, auth.c:335`. The first
// word may be translated.
std::string without_places(const std::string &text)
{
    static const std::regex place(R"([^,:]+: +\w+, [^ ,:]+:\d+)", std::regex::nosubs);
    std::istringstream lines(text);
    std::string kept;
    for (std::string line; std::getline(lines, line);) {
        if (!std::regex_match(line, place)) {
            kept += line + '\n';
        }
    }
    return kept;
}

Failure failure_to_connect(const PGconn *connection)
{
    const std::string text = PQerrorMessage(connection);
    std::string sqlstate = sqlstate_in(text);
    return {sqlstate.empty() ? "08001" : std::move(sqlstate), "could not connect to the server",
            one_line(without_places(text).c_str())};
}

// Waits until the socket is ready for what libpq wants to do next; false where the deadline has passed, also before a
// socket that is always ready.
bool wait_for(const PGconn *connection, PostgresPollingStatusType wanted, Deadline deadline)
{
    const auto events = static_cast<short>(wanted == PGRES_POLLING_READING ? POLLIN : POLLOUT);
    while (!deadline.passed()) {
        pollfd socket{PQsocket(connection), events, 0};
        const int ready = poll(&socket, 1, deadline.poll_timeout());
        if (ready > 0 || (ready < 0 && errno != EINTR)) {
            return true;
        }
    }
    return false;
}

// Connects to one host, or tells why not.
ConnectionPtr try_host(const ConnectionParameters &host, Deadline deadline, std::optional<Failure> &failure)
{
    std::vector<const char *> keywords;
    std::vector<const char *> values;
    for (const auto &[keyword, value] : host) {
        keywords.push_back(keyword.c_str());
        values.push_back(value.c_str());
    }
    keywords.push_back(nullptr);
    values.push_back(nullptr);
    ConnectionPtr connection(PQconnectStartParams(keywords.data(), values.data(), 0));
    if (!connection) {
        raise({"08001", "libpq is out of memory"});
    }
    PQsetErrorVerbosity(connection.get(), PQERRORS_VERBOSE);
    // A server may warn while it lets somebody in, and libpq would print that.
    PQsetNoticeReceiver(
        connection.get(), [](void *, const PGresult *) {}, nullptr);
    PostgresPollingStatusType wanted = PGRES_POLLING_WRITING;
    while (PQstatus(connection.get()) != CONNECTION_BAD && wanted != PGRES_POLLING_OK &&
           wanted != PGRES_POLLING_FAILED) {
        if (!wait_for(connection.get(), wanted, deadline)) {
            failure = {"08001", "could not connect to the server", "The time for it is over."};
            return nullptr;
        }
        wanted = PQconnectPoll(connection.get());
    }
    if (PQstatus(connection.get()) != CONNECTION_OK) {
        failure = failure_to_connect(connection.get());
        return nullptr;
    }
    PQsetErrorVerbosity(connection.get(), PQERRORS_DEFAULT);
    if (PQsetnonblocking(connection.get(), 1) != 0) {
        failure = failure_to_connect(connection.get());
        return nullptr;
    }
    return connection;
}

} // namespace

ConnectionPtr connect(const std::vector<ConnectionParameters> &hosts, std::chrono::milliseconds time_per_host,
                      Deadline deadline)
{
    std::optional<Failure> worst; // one after which it is worth to try again, if there was any
    for (const ConnectionParameters &host : hosts) {
        std::optional<Failure> failure;
        if (ConnectionPtr connection = try_host(host, deadline.within(time_per_host), failure)) {
            return connection;
        }
        if (!worst || action_after(failure->sqlstate) != Action::never) {
            worst = std::move(failure);
        }
        if (deadline.passed()) {
            break;
        }
    }
    raise(*worst);
}

} // namespace idem::client
