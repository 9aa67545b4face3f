#include "batch.h"

#include "decode.h"
#include "server_error.h"

#include <deque>
#include <string>
#include <string_view>
#include <utility>

namespace idem::client {
namespace {

constexpr std::size_t kMostRequests = 100000; // as the server has it

// What a request is refused for before it is sent, or nothing. That details is an object the server would check, too;
// single calls in one transaction must not fail for it, though.
std::optional<std::string> refusal_of(const Request &request, bool objects_only)
{
    try {
        check(request);
    } catch (const Error &error) {
        return error.sqlstate();
    }
    const std::size_t first = request.details.find_first_not_of(" \t\n\r");
    if (objects_only && (first == std::string::npos || request.details[first] != '{')) {
        return "22023";
    }
    return std::nullopt;
}

BatchResult refused(std::string sqlstate)
{
    return {Outcome::invalid, std::nullopt, std::move(sqlstate), std::nullopt};
}

// Says in the words of the server which request a failure is about.
[[noreturn]] void raise_with_place(Failure failure, std::size_t place)
{
    const std::string detail = failure.detail.empty() ? "" : " " + failure.detail;
    failure.detail = "This is request " + std::to_string(place + 1) + " of the batch." + detail;
    raise(failure);
}

void check_at(const Request &request, std::size_t place)
{
    try {
        check(request);
    } catch (const Error &error) {
        raise_with_place({error.sqlstate(), error.message(), error.detail(), error.hint()}, place);
    }
}

// The answer of a batch that a single call's row amounts to.
BatchResult answer_of(const Result &result)
{
    switch (result.outcome) {
    case Outcome::conflict:
        return {result.outcome, std::nullopt, "ID001", std::nullopt};
    case Outcome::order_taken:
        return {result.outcome, std::nullopt, "ID003", std::nullopt};
    default:
        return {result.outcome, result.transaction_id, std::nullopt, result.created_at};
    }
}

} // namespace

Batch::Batch(std::span<const Request> requests, BatchMode mode) : mode_(mode), answers_(requests.size())
{
    if (requests.size() > kMostRequests) {
        raise(
            {"54000", "there are too many requests",
             "There are " + std::to_string(requests.size()) + "; the limit is " + std::to_string(kMostRequests) + "."});
    }
    for (std::size_t i = 0; i < requests.size(); ++i) {
        if (mode == BatchMode::all) {
            check_at(requests[i], i);
        } else if (auto sqlstate = refusal_of(requests[i], false)) {
            answers_[i] = refused(std::move(*sqlstate));
            continue;
        }
        sent_.push_back(&requests[i]);
        places_.push_back(i);
    }
}

// Puts what the server answered between what was refused before.
std::vector<BatchResult> Batch::answers_with(std::vector<BatchResult> received) const
{
    std::vector<BatchResult> all = answers_;
    for (std::size_t i = 0; i < places_.size(); ++i) {
        all[places_[i]] = std::move(received[i]);
    }
    return all;
}

ResultPtr Batch::call(Wire &wire, const Calls &calls)
{
    if (!parameters_) {
        parameters_.emplace(sent_, mode_ == BatchMode::all ? "all" : "each");
    }
    return wire.run(parameters_->statement(calls.create_many));
}

std::vector<BatchResult> Batch::read(const PGresult *answer) const
{
    return answers_with(decode_batch(answer, sent_.size()));
}

std::vector<BatchResult> Batch::call_singly(Wire &wire, const Calls &calls, bool begin)
{
    const bool all = mode_ == BatchMode::all;
    std::vector<BatchResult> received(sent_.size());
    std::deque<CallParameters> parameters; // whose elements stay where they are
    std::vector<Statement> statements;
    std::vector<std::size_t> asked;
    if (begin) {
        statements.push_back({"BEGIN"});
    }
    for (std::size_t i = 0; i < sent_.size(); ++i) {
        if (!all && refusal_of(*sent_[i], true)) {
            received[i] = refused("22023");
            continue;
        }
        parameters.emplace_back(*sent_[i]);
        statements.push_back(parameters.back().statement(all ? calls.create : calls.try_create));
        asked.push_back(i);
    }
    const std::vector<ResultPtr> results = wire.run_together(statements);
    const std::size_t before = begin ? 1 : 0;
    if (begin && !succeeded(results.front().get())) {
        raise(failure_of(wire.native(), results.front().get()));
    }
    for (std::size_t i = 0; i < asked.size(); ++i) {
        const PGresult *result = results[i + before].get();
        if (!succeeded(result)) {
            raise_with_place(failure_of(wire.native(), result), places_[asked[i]]);
        }
        received[asked[i]] = answer_of(decode_result(result));
    }
    return answers_with(std::move(received));
}

bool has_batch_call(Wire &wire, const Calls &calls)
{
    const ResultPtr result = wire.run({calls.has_create_many.c_str()});
    return PQntuples(result.get()) == 1 && PQgetlength(result.get(), 0, 0) == 1 && *PQgetvalue(result.get(), 0, 0) == 1;
}

} // namespace idem::client
