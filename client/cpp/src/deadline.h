#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <limits>

namespace idem::client {

/// A moment that nothing may pass, or never.
class Deadline {
public:
    using Clock = std::chrono::steady_clock;

    static Deadline never() { return Deadline(Clock::time_point::max()); }

    /// So long from now; what lies beyond a century is never.
    static Deadline after(std::chrono::milliseconds time)
    {
        constexpr std::chrono::hours kCentury(24 * 365 * 100);
        return time > kCentury ? never() : Deadline(Clock::now() + time);
    }

    /// The earlier of this one and so long from now.
    [[nodiscard]] Deadline within(std::chrono::milliseconds time) const
    {
        return Deadline(std::min(at_, after(time).at_));
    }

    /// The end of the first of so many equal parts of what is left.
    [[nodiscard]] Deadline part_of(std::size_t parts) const
    {
        return at_ == Clock::time_point::max() ? *this
                                               : Deadline(Clock::now() + left() / static_cast<Clock::rep>(parts));
    }

    [[nodiscard]] bool passed() const { return at_ != Clock::time_point::max() && Clock::now() >= at_; }
    [[nodiscard]] Clock::time_point at() const { return at_; }

    /// What is left, not less than nothing.
    [[nodiscard]] Clock::duration left() const
    {
        return at_ == Clock::time_point::max() ? Clock::duration::max()
                                               : std::max(at_ - Clock::now(), Clock::duration::zero());
    }

    /// What is left, as poll(2) takes it; rounded up, so that it has passed when poll returns.
    [[nodiscard]] int poll_timeout() const
    {
        if (at_ == Clock::time_point::max()) {
            return -1;
        }
        const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(left()).count();
        return static_cast<int>(
            std::min<std::chrono::milliseconds::rep>(milliseconds, std::numeric_limits<int>::max()));
    }

private:
    explicit Deadline(Clock::time_point at) : at_(at) {}
    Clock::time_point at_;
};

} // namespace idem::client
