#include "attempts.h"

#include "backoff.h"
#include "raise.h"

#include <chrono>
#include <string>
#include <thread>
#include <typeinfo>

namespace idem::client {
namespace {

// Throws the error that is being handled, with the number of attempts where it is one of this library's own classes.
[[noreturn]] void throw_with_attempts(const Error &error, int attempts)
{
    const std::type_info &type = typeid(error);
    if (type == typeid(Error) || type == typeid(ConflictError) || type == typeid(InProgressError) ||
        type == typeid(InDoubtError)) {
        raise_again(error, attempts);
    }
    throw;
}

// Whether an error is about the request itself: then no attempt of it can have been committed.
bool settles(const Error &error)
{
    return dynamic_cast<const ConflictError *>(&error) != nullptr;
}

} // namespace

Attempts::Attempts(const ClientOptions &options, const Request *request, WhenInDoubt when_in_doubt)
    : options_(options), request_(request), when_in_doubt_(when_in_doubt),
      deadline_(Deadline::after(options.retry.deadline))
{
}

void Attempts::start()
{
    ++number_;
    instance_.clear();
    started_ = Deadline::Clock::now();
}

// What the hook throws is its own affair.
void Attempts::tell(Attempt attempt) const
{
    if (!options_.on_attempt) {
        return;
    }
    if (request_ != nullptr) {
        attempt.tenant_id = request_->tenant_id;
        attempt.operation = request_->operation;
        attempt.key = request_->key.text();
    }
    attempt.number = number_;
    attempt.instance = instance_;
    attempt.duration = std::chrono::duration_cast<std::chrono::microseconds>(Deadline::Clock::now() - started_);
    try {
        options_.on_attempt(attempt);
    } catch (...) { // NOLINT(bugprone-empty-catch)
    }
}

void Attempts::succeeded(std::optional<Outcome> outcome) const
{
    Attempt attempt;
    attempt.outcome = outcome;
    tell(attempt);
}

void Attempts::ended_by_application() const
{
    Attempt attempt;
    attempt.sqlstate = "38000"; // external_routine_exception
    tell(attempt);
}

void Attempts::failed(const Error &error, bool uncertain)
{
    const RetryPolicy &policy = options_.retry;
    const Action action = action_after(error.sqlstate());
    Attempt attempt;
    attempt.sqlstate = error.sqlstate();
    attempt.commit_known = !uncertain;
    attempt.action = action;
    tell(attempt);
    if (uncertain && when_in_doubt_ == WhenInDoubt::raise) {
        raise_in_doubt(error, number_);
    }
    in_doubt_ = in_doubt_ || uncertain;
    // An action of the application may call another client, whose word is final.
    if (dynamic_cast<const RetriesExhausted *>(&error) != nullptr || settles(error)) {
        throw_with_attempts(error, number_);
    }
    const bool out_of_time = deadline_.passed();
    const bool asked = action == Action::ask && !policy.repeat_waits && !in_doubt_ && !out_of_time;
    if (action == Action::never || asked) {
        // What an earlier attempt left open stays open.
        if (in_doubt_) {
            throw RetriesExhausted(error, number_, true);
        }
        throw_with_attempts(error, number_);
    }
    const auto pause = pause_after(action);
    // An attempt for which no time is left could only hide this error behind the deadline.
    if (out_of_time || number_ >= policy.attempts || pause >= deadline_.left()) {
        give_up(error, out_of_time);
    }
    earlier_ = error;
    std::this_thread::sleep_for(pause);
}

// The deadline may have ended an attempt that was only just begun; what the one before failed for is told then, too.
void Attempts::give_up(const Error &error, bool out_of_time) const
{
    if (!out_of_time || !earlier_) {
        throw RetriesExhausted(error, number_, in_doubt_);
    }
    const std::string detail = error.detail().empty() ? "" : error.detail() + " ";
    throw RetriesExhausted(
        Error(error.sqlstate(), error.message(),
              detail + "The attempt before failed with: " + earlier_->message() + " (" + earlier_->sqlstate() + ").",
              error.hint()),
        number_, in_doubt_);
}

// A server that went away is replaced at once the first time; all other attempts give the others time to be done.
std::chrono::microseconds Attempts::pause_after(Action action)
{
    const bool replaces = action == Action::unknown || action == Action::reconnect;
    if (replaces && !reconnected_) {
        reconnected_ = true;
        return std::chrono::microseconds(0);
    }
    return random_pause(longest_pause_after(number_, options_.retry));
}

} // namespace idem::client
