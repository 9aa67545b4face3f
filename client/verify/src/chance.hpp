#pragma once

#include <cstdint>

namespace idem::verify {

/// Random numbers that are the same on every machine, unlike those of the standard library's distributions.
class Chance {
public:
    /// A sequence for each combination of arguments.
    template <typename... Numbers>
    explicit Chance(std::uint64_t seed, Numbers... numbers) : state_(seed)
    {
        ((state_ = mix(state_ + kGolden) ^ static_cast<std::uint64_t>(numbers)), ...);
    }

    /// A number from 0 to limit - 1.
    std::uint64_t below(std::uint64_t limit) noexcept { return next() % limit; }
    /// True in so many of a thousand cases.
    bool in_thousand(std::uint64_t cases) noexcept { return below(1000) < cases; }
    /// A number from 0 to less than 1.
    double fraction() noexcept { return static_cast<double>(next() >> 11U) * 0x1.0p-53; }

private:
    static constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;

    // The finaliser of splitmix64.
    static std::uint64_t mix(std::uint64_t value) noexcept
    {
        value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9;
        value = (value ^ (value >> 27U)) * 0x94d049bb133111eb;
        return value ^ (value >> 31U);
    }

    std::uint64_t next() noexcept { return mix(state_ += kGolden); }

    std::uint64_t state_;
};

} // namespace idem::verify
