#include "lane.hpp"

#include "chance.hpp"
#include "database.hpp"
#include "endings.hpp"
#include "posed.hpp"

#include <thread>

namespace idem::verify {

namespace {

using namespace std::chrono_literals;

constexpr auto kSettleTime = 60s;
// How far a lane may be behind the first one before it leaves numbers out: twins have to meet.
constexpr std::uint64_t kBehind = 40;

// What an application throws out of its action.
class ActionFailed : public std::exception {};

// The call that a thread is making, for the hook of the client.
struct Current {
    int lane = 0;
    std::uint64_t number = 0;
    int attempts = 0;
};
thread_local Current current;

} // namespace

Lane::Lane(Stage &stage, int lane, LanePast past) : stage_(stage), lane_(lane), past_(std::move(past)) {}

void Lane::run()
{
    while (stage_.board->phase == Phase::play) {
        make_call(choose_number());
    }
    const auto end = std::chrono::steady_clock::now() + kSettleTime;
    while (!past_.open.empty() && std::chrono::steady_clock::now() < end) {
        const std::size_t before = past_.open.size();
        make_call(*past_.open.begin());
        if (past_.open.size() == before) {
            std::this_thread::sleep_for(100ms);
        }
    }
}

void Lane::note_attempt(HistoryWriter &history, const client::Attempt &attempt)
{
    current.attempts = attempt.number;
    if (!attempt.sqlstate.empty()) {
        history.failed_attempt(current.lane, current.number, attempt.number, attempt.sqlstate, attempt.commit_known,
                               attempt.instance);
    }
}

// Now and then an open call, as an application goes through its outbox; else the next new one.
std::uint64_t Lane::choose_number()
{
    Chance chance(stage_.plan.seed, stage_.process, lane_, past_.next, stage_.run);
    if (!past_.open.empty() && chance.below(8) == 0) {
        past_.next++;
        return *past_.open.begin();
    }
    const std::uint64_t front = stage_.board->front;
    if (front > past_.next + kBehind) {
        past_.next = front - kBehind / 2;
    }
    const std::uint64_t number = past_.next++;
    std::uint64_t highest = front;
    while (highest < number && !stage_.board->front.compare_exchange_weak(highest, number)) {
    }
    return number;
}

// Makes a call and writes down how it ended. What has no answer stays open.
void Lane::make_call(std::uint64_t number)
{
    const Step step = stage_.script.step(stage_.process, lane_, number);
    const bool asks = step.asks && past_.acknowledged.contains(step.requests.front().scope);
    const Step made{asks ? Kind::attempt : step.kind, step.requests, step.holds, step.action_fails};
    current = Current{lane_, number};
    past_.open.insert(number);
    stage_.history.send(lane_, number, made.kind, made.requests);
    stage_.board->sent++;
    Ending ending;
    try {
        ending.answers = ask(made, number);
        stage_.history.acknowledge(lane_, number, current.attempts, ending.answers);
        for (std::size_t place = 0; place < ending.answers.size(); place++) {
            if (!ending.answers[place].id.empty()) {
                past_.acknowledged.insert(made.requests[place].scope);
            }
        }
    } catch (const client::Error &error) {
        ending.sqlstate = error.sqlstate();
        ending.in_doubt = is_in_doubt(error);
        stage_.history.fail(lane_, number, current.attempts, ending.sqlstate, ending.in_doubt);
    } catch (const ActionFailed &) {
        ending.sqlstate = kApplicationFailed;
        stage_.history.fail(lane_, number, current.attempts, ending.sqlstate, false);
    }
    stage_.board->in_doubt += ending.in_doubt ? 1 : 0;
    if (is_final(ending)) {
        stage_.board->answered++;
        past_.open.erase(number);
    }
}

std::vector<Answer> Lane::ask(const Step &step, std::uint64_t number)
{
    client::Client &client = stage_.client;
    switch (step.kind) {
    case Kind::once:
        return {ask_once(step, number)};
    case Kind::create:
        return {answer_of(client.create_transaction(request_of(step.requests.front())))};
    case Kind::attempt:
        return {answer_of(client.try_create_transaction(request_of(step.requests.front())))};
    case Kind::batch:
        break;
    }
    return ask_together(client, step.requests);
}

Answer Lane::ask_once(const Step &step, std::uint64_t number)
{
    const Posed &posed = step.requests.front();
    return answer_of(
        stage_.client.once(request_of(posed), [&](client::Transaction &transaction, const client::Result &result) {
            post(transaction, posed, result, number);
            std::this_thread::sleep_for(step.holds);
            if (step.action_fails) {
                throw ActionFailed();
            }
        }));
}

// The business row. Its table has no unique key: a second one would be there to be seen.
void Lane::post(client::Transaction &transaction, const Posed &request, const client::Result &result,
                std::uint64_t number)
{
    transaction.run(insert_posting(stage_.plan.schema),
                    {request.scope.tenant_id, request.scope.operation, request.scope.key, result.transaction_id,
                     request.amount_minor, stage_.process, static_cast<std::int64_t>(number)});
}

} // namespace idem::verify
