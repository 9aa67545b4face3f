#include "backoff.h"

#include <algorithm>
#include <cstdint>
#include <random>

namespace idem::client {

std::chrono::milliseconds longest_pause_after(int attempt, const RetryPolicy &policy)
{
    std::chrono::milliseconds pause = std::max(policy.first_pause, std::chrono::milliseconds(0));
    for (int i = 1; i < attempt && pause < policy.longest_pause && pause.count() > 0; ++i) {
        // Half of the limit first: doubling a large number must not overflow.
        pause = pause > policy.longest_pause / 2 ? policy.longest_pause : pause * 2;
    }
    return std::min(pause, std::max(policy.longest_pause, std::chrono::milliseconds(0)));
}

std::chrono::microseconds random_pause(std::chrono::milliseconds longest)
{
    // The system's random numbers, not a generator's: pauses are rare, and processes that were forked from one must not
    // share them.
    std::random_device device;
    constexpr std::chrono::milliseconds kYear = std::chrono::hours(24 * 365); // which in microseconds is no overflow
    std::uniform_int_distribution<std::int64_t> distribution(
        0, std::chrono::microseconds(std::min(longest, kYear)).count());
    return std::chrono::microseconds(distribution(device));
}

} // namespace idem::client
