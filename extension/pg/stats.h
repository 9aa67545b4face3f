#pragma once

#include <string_view>

#include "pg.h"

namespace idem::pg {

/// What is counted, in the order of the columns of idem_stats.
enum class Counter {
    created,
    replayed,
    conflict,
    order_taken,
    in_progress,
    serialization_failures,
    waits,
    wait_time, // microseconds
    count
};

inline constexpr size_t kCounters = static_cast<size_t>(Counter::count);

/// The longest operation, in octets of the database encoding.
inline constexpr size_t kMaxOperation = 100;

/// Have the server reserve the memory of the counters; server code, for _PG_init while the server preloads the library.
void request_counters();

/// Whether there are counters: they live in shared memory, which only a server that preloads the library has.
bool counters_exist();

/// The counters of one operation of this database; those of all further operations where the table is full.
class OperationCounters {
public:
    explicit OperationCounters(std::string_view operation);
    void add(Counter counter, uint64 amount);

private:
    pg_atomic_uint64 *counts_;
};

/// A copy of one operation's counters.
struct OperationStats {
    Oid database; // InvalidOid: the operations that found the table full
    int encoding; // of the operation
    size_t length;
    char operation[kMaxOperation];
    uint64 counts[kCounters];
};

struct Stats {
    TimestampTz since;
    size_t size;
    OperationStats *entries; // in the current memory context
};

/// All counters. Server code.
Stats read_stats();

/// Start again from zero, with an empty table. Server code.
void reset_stats();

} // namespace idem::pg
