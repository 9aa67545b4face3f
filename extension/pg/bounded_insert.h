#pragma once

#include "../core/errcodes.h"
#include "boundary.h"
#include "busy_limit.h"
#include "observe.h"

#include "pg.h"

namespace idem::pg {

/// Run server code that inserts, under idem.busy_timeout, and note its waits for the counters. Raises ID002.
template <typename F>
auto insert_within_limit(F body) -> decltype(body())
{
    const WaitWatch watch;
    const BusyLimit limit;
    try {
        return backend([&] {
            const auto result = body();
            if (limit.struck()) {
                CHECK_FOR_INTERRUPTS(); // the wait ended just when the limit struck; its cancel must not outlive it
            }
            return result;
        });
    } catch (const BackendError &e) {
        if (!limit.caused(*e.error)) {
            throw;
        }
        throw core::Error(
            core::sqlstate::kInProgress, "another transaction is processing this idempotency key or order_ref",
            "It did not end within idem.busy_timeout.", "Retry with the same key and the same parameters.");
    }
}

} // namespace idem::pg
