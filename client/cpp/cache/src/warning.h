#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string_view>

namespace idem::cache {

/// Says what is wrong, at most once in a while. Thread-safe.
class Warning {
public:
    using Clock = std::chrono::steady_clock;

    /// Without a function, it writes to standard error.
    explicit Warning(std::function<void(std::string_view)> function);

    /// Says it, unless something was said less than a minute ago. What the function throws is ignored.
    void say(std::string_view where, std::string_view what, Clock::time_point now = Clock::now()) noexcept;

private:
    const std::function<void(std::string_view)> function_;
    std::atomic<Clock::rep> silent_until_;
};

} // namespace idem::cache
