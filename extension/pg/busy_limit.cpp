#include "busy_limit.h"

#include "guc.h"

#include <algorithm>

#include "pg.h"

namespace idem::pg {
namespace {

constexpr int kRecheckMs = 10; // from one look at what is being waited for to the next

// Error contexts on the stack while the insert itself waits for a transaction: SPI's, where it is a statement, and that
// of the wait. The statements of triggers and foreign keys have more.
constexpr int kOwnContexts = 2;

BusyLimit *innermost = nullptr; // the one whose insert runs

// The timeout that this process uses for all limits.
TimeoutId timeout_id(timeout_handler_proc handler)
{
    static TimeoutId id = MAX_TIMEOUTS;
    if (id == MAX_TIMEOUTS) {
        id = RegisterTimeout(USER_TIMEOUT, handler);
    }
    return id;
}

} // namespace

BusyLimit::BusyLimit()
    : outer_(innermost), caller_context_(error_context_stack), limit_(busy_timeout),
      end_(TimestampTzPlusMilliseconds(GetCurrentTimestamp(), std::max(limit_, 1)))
{
    innermost = this;
    set_timer();
}

BusyLimit::~BusyLimit()
{
    if (limit_ >= 0) {
        disable_timeout(timeout_id(strike_if_waiting), false);
    }
    if (struck_ && !get_timeout_indicator(STATEMENT_TIMEOUT, false)) {
        QueryCancelPending = 0; // another error came first; what the limit asked for must not hit what comes after it
    }
    innermost = outer_;
    if (outer_ != nullptr) {
        outer_->set_timer();
    }
}

void BusyLimit::set_timer() const
{
    if (limit_ >= 0) {
        enable_timeout_every(timeout_id(strike_if_waiting), end_, kRecheckMs);
    }
}

bool BusyLimit::caused(const ErrorData &error) const
{
    // The server says which cancel it was: that of statement_timeout, where both are due.
    return struck_ && error.sqlerrcode == ERRCODE_QUERY_CANCELED && error.message_id != nullptr &&
           strcmp(error.message_id, "canceling statement due to user request") == 0;
}

// Runs in the handler of SIGALRM, which also wakes a process that waits for a lock. Strikes once, and not at a process
// that is on its way out: a FATAL error runs no destructor.
void BusyLimit::strike_if_waiting()
{
    if (!proc_exit_inprogress && innermost != nullptr && !innermost->struck_ && innermost->waits_for_twin()) {
        innermost->struck_ = true;
        QueryCancelPending = 1;
        InterruptPending = 1;
    }
}

// What a process waits for cannot go away under it: until it wakes up it stands in the lock's queue, or holds the lock.
bool BusyLimit::waits_for_twin() const
{
    const PGPROC *process = MyProc;
    const LOCK *lock = process == nullptr ? nullptr : process->waitLock;
    if (lock == nullptr ||
        (lock->tag.locktag_type != LOCKTAG_TRANSACTION && lock->tag.locktag_type != LOCKTAG_SPECULATIVE_TOKEN)) {
        return false;
    }
    int contexts = 0;
    for (const ErrorContextCallback *c = error_context_stack; c != nullptr && c != caller_context_; c = c->previous) {
        ++contexts;
    }
    return contexts <= kOwnContexts;
}

} // namespace idem::pg
