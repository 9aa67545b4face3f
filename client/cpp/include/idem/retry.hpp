#pragma once

#include <idem/export.hpp>

#include <chrono>
#include <string_view>

namespace idem::client {

/// What to do after an error. The unit that is repeated is always the whole transaction, with the same key and the same
/// octets in every parameter.
enum class Action {
    never,     ///< Repeating gives the same error.
    repeat,    ///< The transaction was rolled back; repeat it.
    unknown,   ///< The connection is gone, perhaps after the commit; repeat on a new one.
    reconnect, ///< This server cannot serve writes now; repeat on a new connection to one that can.
    ask,       ///< A wait ended: repeating is the caller's choice, RetryPolicy::repeat_waits.
};

/// The one table from SQLSTATE to action:
///
/// | SQLSTATE | action |
/// | --- | --- |
/// | 40001, 40P01 | repeat |
/// | 08000, 08003, 08006, 08007, 57P01, 57P02, 57P05 | unknown |
/// | 08001, 08004, 25006, 57P03, 53300 | reconnect |
/// | 55P03, 57014, ID002 | ask |
/// | all others: 22xxx, 23xxx, 42xxx, 0A000, 08P01, 54xxx, ID001, ID003, ... | never |
[[nodiscard]] IDEM_CLIENT_API Action action_after(std::string_view sqlstate) noexcept;

/// How long and how often a transaction is repeated.
struct RetryPolicy {
    /// For everything together: waiting for a connection, connecting, all attempts and the pauses between them. A call
    /// returns or throws within it, and within one second more where the network swallows everything.
    std::chrono::milliseconds deadline{5000};

    /// The most attempts; 1 repeats nothing.
    int attempts = 10;

    /// The pause after attempt n is random between 0 and min(longest_pause, first_pause * 2^(n-1)): "full jitter",
    /// which keeps clients that failed together from coming back together. A lost connection is replaced at once the
    /// first time. A pause that would reach the deadline is not made; the call ends at once instead.
    std::chrono::milliseconds first_pause{10};
    std::chrono::milliseconds longest_pause{1000};

    /// Whether an attempt that ended in a wait is repeated: 55P03 (lock_timeout), 57014 (statement_timeout, cancel),
    /// ID002 (idem.busy_timeout).
    bool repeat_waits = false;
};

} // namespace idem::client
