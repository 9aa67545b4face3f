#pragma once

#include "pg.h"

namespace idem::pg {

/// While one lives, a wait of the insert for another transaction that holds the same key or order_ref is
/// ended after idem.busy_timeout, by a cancel. Other waits are left alone: those for a lock that extends the table, and
/// those of triggers and foreign keys. They nest, since a trigger on the table may call idem again.
class BusyLimit {
public:
    BusyLimit();
    ~BusyLimit();
    BusyLimit(const BusyLimit &) = delete;
    BusyLimit &operator=(const BusyLimit &) = delete;

    /// Whether the limit has struck; the server then raises 57014 at its next check for interrupts.
    bool struck() const { return struck_; }

    /// Whether this error is what the limit struck with, to be read as ID002.
    bool caused(const ErrorData &error) const;

private:
    static void strike_if_waiting();

    void set_timer() const;
    bool waits_for_twin() const;

    BusyLimit *outer_;
    ErrorContextCallback *caller_context_;
    int limit_; // in milliseconds; negative: none
    TimestampTz end_;
    volatile bool struck_ = false;
};

} // namespace idem::pg
