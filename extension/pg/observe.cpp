#include "observe.h"

#include "../core/errcodes.h"

#include <string_view>
#include <utility>

#include "pg.h"

namespace idem::pg {
namespace {

namespace sqlstate = core::sqlstate;

// The waits of the innermost call that is running.
uint64 waits = 0;
uint64 wait_time = 0; // microseconds

TimestampTz noted = 0; // the start of the wait that was noted last

// What an error counts as.
std::optional<Counter> counter_of(std::string_view code)
{
    if (code == sqlstate::kKeyReused) {
        return Counter::conflict;
    }
    if (code == sqlstate::kOrderTaken) {
        return Counter::order_taken;
    }
    if (code == sqlstate::kInProgress) {
        return Counter::in_progress;
    }
    if (code == sqlstate::kSerializationFailure) {
        return Counter::serialization_failures;
    }
    return std::nullopt;
}

} // namespace

void WaitWatch::note()
{
    const TimestampTz start = get_timeout_start_time(DEADLOCK_TIMEOUT);
    if (start == noted) {
        return; // a wait of a call within this one
    }
    noted = start;
    // Waits for a transaction are for ShareLock; those of sessions that extend one table at once are not. The server
    // leaves the mode in place, too.
    if (MyProc->waitLockMode == ShareLock) {
        ++waits;
        wait_time += static_cast<uint64>(GetCurrentTimestamp() - start);
    }
}

Observation::Observation(const CallScope &scope)
    : operation_(scope.operation), log_(scope), outer_waits_(std::exchange(waits, 0)),
      outer_wait_time_(std::exchange(wait_time, 0))
{
}

Observation::~Observation()
{
    waits = outer_waits_;
    wait_time = outer_wait_time_;
}

void Observation::ended(Outcome outcome)
{
    // Counter begins with the outcomes.
    result_ = static_cast<Counter>(outcome);
}

void Observation::failed(const core::Error &error)
{
    result_ = counter_of(error.sqlstate());
}

void Observation::failed(const BackendError &error)
{
    // Codes of class ID in a server error are those of a call within this one.
    if (error.error->sqlerrcode == ERRCODE_T_R_SERIALIZATION_FAILURE) {
        result_ = Counter::serialization_failures;
    }
}

void Observation::count() const
{
    if (!counters_exist() || (!result_ && waits == 0)) {
        return;
    }
    OperationCounters counters(operation_);
    if (result_) {
        counters.add(*result_, 1);
    }
    if (waits > 0) {
        counters.add(Counter::waits, waits);
        counters.add(Counter::wait_time, wait_time);
    }
}

} // namespace idem::pg
