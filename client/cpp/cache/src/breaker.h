#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>

namespace idem::cache {

/// Keeps calls away from something that failed, for a pause that doubles with every further failure. When the pause is
/// over, one call tries; the others stay away until it has succeeded. Thread-safe.
class Breaker {
public:
    using Clock = std::chrono::steady_clock;

    /// The leave for one try. Where it ends without a verdict, nothing has been learned and the next call may try.
    class Permit {
    public:
        Permit(Permit &&other) noexcept;
        Permit(const Permit &) = delete;
        Permit &operator=(const Permit &) = delete;
        Permit &operator=(Permit &&) = delete;
        ~Permit();

        /// False where another call has failed since the permit was given: then it shall not be used.
        [[nodiscard]] bool current() const;
        /// Ends the pauses.
        void succeeded();
        /// Begins a pause, unless the permit is older than the one that there is.
        void failed(Clock::time_point now = Clock::now());

    private:
        friend class Breaker;
        Permit(Breaker &breaker, std::uint64_t generation) noexcept : breaker_(&breaker), generation_(generation) {}

        Breaker *breaker_;
        std::uint64_t generation_;
    };

    Breaker(std::chrono::milliseconds first_pause, std::chrono::milliseconds longest_pause) noexcept
        : first_pause_(first_pause), longest_pause_(longest_pause)
    {
    }

    /// Gives the leave to try, or nothing.
    std::optional<Permit> ask(Clock::time_point now = Clock::now());

private:
    const std::chrono::milliseconds first_pause_;
    const std::chrono::milliseconds longest_pause_;
    std::mutex mutex_;
    std::chrono::milliseconds pause_{0}; ///< The pause of the last failure; 0 while all is well.
    Clock::time_point paused_until_;
    bool trying_ = false;          ///< Whether the one call after a pause is under way.
    std::uint64_t generation_ = 0; ///< How many pauses there have been.
};

} // namespace idem::cache
