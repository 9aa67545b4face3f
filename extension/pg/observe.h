#pragma once

#include "boundary.h"
#include "call_site.h"
#include "outcome_log.h"
#include "stats.h"

#include <exception>
#include <optional>
#include <string_view>
#include <type_traits>

#include "pg.h"

namespace idem::pg {

/// Lives while an insert runs, and notes for the counters whether the process slept on a lock meanwhile, and
/// how long.
class WaitWatch {
public:
    WaitWatch() : before_(counters_exist() ? get_timeout_start_time(DEADLOCK_TIMEOUT) : 0) {}
    ~WaitWatch()
    {
        // The server starts this timeout whenever it puts the process to sleep for a lock, and leaves the time in it.
        if (counters_exist() && get_timeout_start_time(DEADLOCK_TIMEOUT) != before_) {
            note();
        }
    }
    WaitWatch(const WaitWatch &) = delete;
    WaitWatch &operator=(const WaitWatch &) = delete;

private:
    static void note();

    TimestampTz before_;
};

/// What the observer of one call keeps; calls nest, since a trigger may call idem again.
class Observation {
public:
    explicit Observation(const CallScope &scope);
    ~Observation();
    Observation(const Observation &) = delete;
    Observation &operator=(const Observation &) = delete;

    /// Whether anybody wants to know about calls.
    static bool wanted() { return counters_exist() || OutcomeLog::wanted(); }

    void ended(Outcome outcome);
    void failed(const core::Error &error);
    void failed(const BackendError &error);

    /// Count it; once, when the call has ended or failed.
    void count() const;

    /// Whether it is to be logged.
    bool logged() const { return result_ && log_.takes(*result_); }
    /// Whether it ended with a transaction, own or other.
    bool has_transaction() const { return *result_ <= Counter::order_taken; }
    void log(const std::optional<std::string> &transaction_id) const { log_.write(*result_, transaction_id); }

private:
    std::string_view operation_;
    OutcomeLog log_;
    std::optional<Counter> result_; // none for an error that is neither counted nor logged
    uint64 outer_waits_;
    uint64 outer_wait_time_;
};

/// Run the part of a call that inserts or fetches, and have its outcome counted and logged, or the error that it ends
/// with; a body without an outcome is counted by its waits and its error. `transaction_id` gives the id of the
/// transaction that was created or found as a text in UTF-8, if there is one; it is called only for the log.
template <typename F, typename Id>
auto observe(const CallScope &scope, F body, Id transaction_id) -> decltype(body())
{
    if (!Observation::wanted()) {
        return body();
    }
    Observation observation(scope);
    Outcome outcome{};
    std::exception_ptr error;
    try {
        if constexpr (std::is_void_v<decltype(body())>) {
            body();
        } else {
            outcome = body();
            observation.ended(outcome);
        }
    } catch (const core::Error &e) {
        observation.failed(e);
        error = std::current_exception();
    } catch (const BackendError &e) {
        observation.failed(e);
        error = std::current_exception();
    }
    observation.count();
    if (observation.logged()) {
        observation.log(observation.has_transaction() ? transaction_id() : std::nullopt);
    }
    if (error) {
        std::rethrow_exception(error);
    }
    return static_cast<decltype(body())>(outcome);
}

} // namespace idem::pg
