#pragma once

#include <idem/retry.hpp>

#include <chrono>

namespace idem::client {

/// The longest pause after an attempt, which is numbered from 1: it doubles each time, up to the policy's limit.
std::chrono::milliseconds longest_pause_after(int attempt, const RetryPolicy &policy);

/// A pause between 0 and the longest, any as likely as the others. To be called from any thread.
std::chrono::microseconds random_pause(std::chrono::milliseconds longest);

} // namespace idem::client
