#include <idem/call.hpp>

#include "batch.h"
#include "calls.h"
#include "decode.h"
#include "raise.h"
#include "server_error.h"
#include "wire.h"

namespace idem::client {
namespace {

Deadline deadline_of(const CallOptions &options)
{
    return options.timeout.count() > 0 ? Deadline::after(options.timeout) : Deadline::never();
}

// Refuses a connection on which a call would fail, or worse, send other octets than the request has.
void check_connection(const PGconn *connection)
{
    if (PQstatus(connection) != CONNECTION_OK) {
        raise(failure_of(connection, nullptr));
    }
    if (PQtransactionStatus(connection) == PQTRANS_ACTIVE || PQpipelineStatus(connection) != PQ_PIPELINE_OFF) {
        raise({"55000", "the connection is busy", "A command is in progress, or the pipeline mode is on."});
    }
    check_encoding(connection);
}

Result call(PGconn *connection, const Request &request, const CallOptions &options, std::string Calls::*text)
{
    check(request);
    check_connection(connection);
    const Calls calls(options.schema);
    const CallParameters parameters(request);
    Wire wire(connection, deadline_of(options));
    return decode_result(wire.run(parameters.statement(calls.*text)).get());
}

// Ends the transaction that failed, so that the connection is as it was found. Whatever happens meanwhile, it is the
// first error that counts.
void roll_back(Wire &wire) noexcept
{
    try {
        if (PQtransactionStatus(wire.native()) == PQTRANS_INERROR ||
            PQtransactionStatus(wire.native()) == PQTRANS_INTRANS) {
            wire.run({"ROLLBACK"});
        }
    } catch (...) { // NOLINT(bugprone-empty-catch)
    }
}

// Single calls in a transaction of their own.
std::vector<BatchResult> call_in_transaction(Wire &wire, const Calls &calls, Batch &batch)
{
    try {
        std::vector<BatchResult> answers = batch.call_singly(wire, calls, true);
        check_committed(commit(wire).get());
        return answers;
    } catch (...) {
        roll_back(wire);
        throw;
    }
}

} // namespace

Result create_transaction(PGconn *connection, const Request &request, const CallOptions &options)
{
    return call(connection, request, options, &Calls::create);
}

Result try_create_transaction(PGconn *connection, const Request &request, const CallOptions &options)
{
    return call(connection, request, options, &Calls::try_create);
}

std::vector<BatchResult> create_transactions(PGconn *connection, std::span<const Request> requests, BatchMode mode,
                                             const CallOptions &options)
{
    Batch batch(requests, mode);
    if (batch.decided()) {
        return batch.answers();
    }
    check_connection(connection);
    const Calls calls(options.schema);
    Wire wire(connection, deadline_of(options));
    // In an open transaction a function that is missing must not be called: the error would abort it.
    const bool inside = PQtransactionStatus(connection) != PQTRANS_IDLE;
    if (inside && !has_batch_call(wire, calls)) {
        return batch.call_singly(wire, calls, false);
    }
    ResultPtr answer;
    try {
        answer = batch.call(wire, calls);
    } catch (const Error &error) {
        if (inside || error.sqlstate() != "42883") {
            throw;
        }
    }
    return answer ? batch.read(answer.get()) : call_in_transaction(wire, calls, batch);
}

} // namespace idem::client
