#include "connect.h"

#include "raise.h"
#include "server_error.h"

#include <idem/retry.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <optional>
#include <poll.h>
#include <random>
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

// Connects to one address, or tells why not.
ConnectionPtr try_address(const ConnectionParameters &address, Deadline deadline, std::optional<Failure> &failure)
{
    std::vector<const char *> keywords;
    std::vector<const char *> values;
    for (const auto &[keyword, value] : address) {
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
    // A server may warn while it lets somebody in, or as it ends the session, and libpq would print that.
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

// The last value that is given for a keyword, as libpq reads it, or nothing.
std::string value_of(const ConnectionParameters &parameters, std::string_view keyword)
{
    const auto found = std::find_if(parameters.rbegin(), parameters.rend(),
                                    [&](const auto &parameter) { return parameter.first == keyword; });
    return found == parameters.rend() ? std::string() : found->second;
}

// The parameters for each address of a host. libpq would look up a name by itself, for as long as that takes, and try
// the addresses one after the other until the time of all is over, so that a silent one hides the others. The name
// stays with the address, for the certificate and the password file.
std::vector<ConnectionParameters> addresses_of(const ConnectionParameters &host, Names &names, Deadline deadline)
{
    const std::string name = value_of(host, "host");
    if (!value_of(host, "hostaddr").empty() || !is_name(name)) {
        return {host};
    }
    std::vector<std::string> addresses = names.addresses_of(name, deadline);
    if (value_of(host, "load_balance_hosts") == "random") {
        std::shuffle(addresses.begin(), addresses.end(), std::mt19937(std::random_device{}()));
    }
    std::vector<ConnectionParameters> all;
    for (const std::string &address : addresses) {
        all.push_back(host);
        all.back().emplace_back("hostaddr", address);
    }
    return all;
}

// Connects to the hosts one after the other, and remembers why it could not.
class Connecting {
public:
    Connecting(Names &names, std::chrono::milliseconds longest, Deadline deadline)
        : names_(names), longest_(longest), deadline_(deadline)
    {
    }

    // Tries a host behind which so many others wait.
    ConnectionPtr try_host(const ConnectionParameters &host, std::size_t others)
    {
        std::optional<Failure> failure;
        try {
            const std::vector<ConnectionParameters> addresses = addresses_of(host, names_, end_of_try(1 + others));
            for (std::size_t i = 0; i < addresses.size() && !is_final(failure); ++i) {
                const std::size_t tries = addresses.size() - i + others;
                if (ConnectionPtr connection = try_address(addresses[i], end_of_try(tries), failure)) {
                    return connection;
                }
            }
        } catch (const Error &error) {
            failure = {error.sqlstate(), error.message(), error.detail(), error.hint()};
        }
        // One after which it is worth to try again counts more.
        if (!failure_ || !is_final(failure)) {
            failure_ = std::move(failure);
        }
        return nullptr;
    }

    [[nodiscard]] const Failure &failure() const { return *failure_; }

private:
    // Whether a server has refused for good: then it would do so at the other addresses of its name.
    static bool is_final(const std::optional<Failure> &failure)
    {
        return failure && action_after(failure->sqlstate) == Action::never;
    }

    // When a try ends that is the first of so many.
    [[nodiscard]] Deadline end_of_try(std::size_t tries) const
    {
        const Deadline end = deadline_.part_of(tries);
        return longest_.count() > 0 ? end.within(longest_) : end;
    }

    Names &names_;
    std::chrono::milliseconds longest_;
    Deadline deadline_;
    std::optional<Failure> failure_;
};

} // namespace

ConnectionPtr connect(const std::vector<ConnectionParameters> &hosts, Names &names,
                      std::chrono::milliseconds time_per_address, Deadline deadline)
{
    Connecting connecting(names, time_per_address, deadline);
    for (std::size_t i = 0; i < hosts.size() && (i == 0 || !deadline.passed()); ++i) {
        if (ConnectionPtr connection = connecting.try_host(hosts[i], hosts.size() - i - 1)) {
            return connection;
        }
    }
    raise(connecting.failure());
}

} // namespace idem::client
