#include "wire.h"

#include "cancel.h"
#include "server_error.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <poll.h>
#include <string_view>
#include <system_error>
#include <utility>

namespace idem::client {
namespace {

// How long the cancel may take, and how long the answer to it; together less than the second that is promised.
constexpr std::chrono::milliseconds kCancelTime(400);
constexpr std::chrono::milliseconds kAnswerTime(400);

// Whether the connection is in the middle of COPY now, which does not end by itself.
bool is_copy(const PGresult *result)
{
    const ExecStatusType status = PQresultStatus(result);
    return status == PGRES_COPY_IN || status == PGRES_COPY_OUT || status == PGRES_COPY_BOTH;
}

} // namespace

bool speaks_utf8(const PGconn *connection)
{
    return std::string_view(pg_encoding_to_char(PQclientEncoding(connection))) == "UTF8";
}

void check_encoding(const PGconn *connection)
{
    if (!speaks_utf8(connection)) {
        raise({"22023", "client_encoding must be UTF8", {}, "Call PQsetClientEncoding(connection, \"UTF8\")."});
    }
}

bool succeeded(const PGresult *result)
{
    const ExecStatusType status = PQresultStatus(result);
    return status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK || status == PGRES_EMPTY_QUERY;
}

const PGresult *first_failure(std::span<const ResultPtr> results)
{
    const auto found = std::find_if(results.begin(), results.end(), [](const ResultPtr &result) {
        return !succeeded(result.get()) && PQresultStatus(result.get()) != PGRES_PIPELINE_ABORTED;
    });
    return found == results.end() ? nullptr : found->get();
}

ResultPtr commit(Wire &wire)
{
    ResultPtr result = wire.run({"COMMIT"});
    if (std::string_view(PQcmdStatus(result.get())) == "ROLLBACK") {
        raise({"40000", "the transaction was rolled back", {}, "A statement in it had failed."});
    }
    return result;
}

Wire::Wire(PGconn *connection, Deadline deadline, bool *cancelled)
    : connection_(connection), deadline_(deadline), told_(cancelled), was_nonblocking_(PQisnonblocking(connection) != 0)
{
    if (!was_nonblocking_) {
        PQsetnonblocking(connection_, 1);
    }
}

Wire::~Wire()
{
    if (!was_nonblocking_) {
        PQsetnonblocking(connection_, 0);
    }
}

void Wire::fail(const PGresult *result) const
{
    Failure failure = failure_of(connection_, result);
    if (cancelled_ && failure.sqlstate == "57014") {
        failure.message = "the deadline passed";
    }
    raise(failure);
}

void Wire::send(const Statement &statement)
{
    const auto &[text, count, types, values, lengths, formats, result_format] = statement;
    if (PQsendQueryParams(connection_, text, count, types, values, lengths, formats, result_format) != 1) {
        fail(nullptr);
    }
}

// The first time the deadline passes it sends a cancel and grants the answer a little time; the second time it gives
// up.
void Wire::give_more_time()
{
    const bool first = !cancelled_;
    cancelled_ = true;
    if (told_ != nullptr) {
        *told_ = true;
    }
    if (!first || !cancel(connection_, Deadline::after(kCancelTime))) {
        raise({"57014", "the deadline passed"});
    }
    deadline_ = Deadline::after(kAnswerTime);
}

// Waits until the socket is ready. The deadline comes first: a server that never stops sending keeps the socket ready.
void Wire::wait_for(short events)
{
    for (;;) {
        pollfd socket{PQsocket(connection_), events, 0};
        if (socket.fd < 0) {
            return; // the connection is gone, as the next call of libpq says
        }
        if (deadline_.passed()) {
            give_more_time();
        }
        const int ready = poll(&socket, 1, deadline_.poll_timeout());
        if (ready > 0) {
            return;
        }
        if (ready < 0 && errno != EINTR) {
            throw Error("08006", "could not wait for the server", std::generic_category().message(errno));
        }
    }
}

// Sends what is buffered, and reads meanwhile: a server that cannot get rid of its answers stops reading.
void Wire::flush()
{
    for (;;) {
        const int left = PQflush(connection_);
        if (left == 0 || PQstatus(connection_) == CONNECTION_BAD) {
            return; // the results tell what happened
        }
        if (left < 0) {
            fail(nullptr);
        }
        wait_for(POLLIN | POLLOUT);
        if (PQconsumeInput(connection_) != 1) {
            return;
        }
    }
}

// The next result, or nothing at the end of those of a statement.
ResultPtr Wire::next()
{
    flush();
    while (PQisBusy(connection_) != 0) {
        wait_for(POLLIN);
        if (PQconsumeInput(connection_) != 1) {
            break; // PQgetResult gives what came before the end, then an error
        }
    }
    return ResultPtr(PQgetResult(connection_));
}

// What is too late is not sent: a COMMIT that is cancelled at once would only be one more doubt.
void Wire::check_time() const
{
    if (deadline_.passed()) {
        raise({"57014", "the deadline passed"});
    }
}

ResultPtr Wire::run(const Statement &statement)
{
    check_time();
    send(statement);
    ResultPtr result;
    while (ResultPtr current = next()) {
        // The first failure counts: what follows it is the end of the connection.
        if (!result || succeeded(result.get())) {
            result = std::move(current);
        }
        if (is_copy(result.get())) {
            throw Error("0A000", "cannot run COPY", {}, "Use the native connection for it.");
        }
    }
    if (!result || !succeeded(result.get()) || PQstatus(connection_) == CONNECTION_BAD) {
        fail(result.get());
    }
    return result;
}

std::vector<ResultPtr> Wire::run_together(std::span<const Statement> statements)
{
    check_time();
    if (PQenterPipelineMode(connection_) != 1) {
        fail(nullptr);
    }
    for (const Statement &statement : statements) {
        send(statement);
    }
    if (PQpipelineSync(connection_) != 1) {
        fail(nullptr);
    }
    std::vector<ResultPtr> results;
    bool between = true; // a NULL stands behind the results of each statement
    for (;;) {
        ResultPtr current = next();
        if (!current) {
            if (between && PQstatus(connection_) == CONNECTION_BAD) {
                fail(first_failure(results));
            }
            between = true;
            continue;
        }
        if (PQresultStatus(current.get()) == PGRES_PIPELINE_SYNC) {
            break;
        }
        if (between) {
            results.push_back(std::move(current));
        } else if (succeeded(results.back().get())) {
            results.back() = std::move(current);
        }
        between = false;
    }
    if (PQexitPipelineMode(connection_) != 1 || results.size() != statements.size()) {
        fail(nullptr);
    }
    return results;
}

} // namespace idem::client
