#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace idem::fuzz {

/// The input of a target, read from front to back. Behind its end there are zeros, so that every input means something.
class Octets {
public:
    Octets(const uint8_t *data, size_t size) : text_(reinterpret_cast<const char *>(data), size) {}

    [[nodiscard]] bool empty() const { return text_.empty(); }

    uint8_t octet()
    {
        const std::string_view taken = take(1);
        return taken.empty() ? uint8_t{0} : static_cast<uint8_t>(taken[0]);
    }

    /// A number below `limit`, which is at most 256.
    unsigned below(unsigned limit) { return octet() % limit; }

    /// The next octets, fewer at the end.
    std::string_view take(size_t count)
    {
        const std::string_view taken = text_.substr(0, count);
        text_.remove_prefix(taken.size());
        return taken;
    }

    std::string_view rest() { return take(text_.size()); }

private:
    std::string_view text_;
};

/// Choices that a target makes by itself: the same for the same seed, on every machine.
class Choices {
public:
    explicit Choices(uint64_t seed) : state_(seed + 0x9E3779B97F4A7C15) {}

    /// A number below `limit`.
    size_t below(size_t limit)
    {
        // xorshift64*; its low bits are the weak ones.
        state_ ^= state_ >> 12;
        state_ ^= state_ << 25;
        state_ ^= state_ >> 27;
        return static_cast<size_t>((state_ * 0x2545F4914F6CDD1D) >> 33) % limit;
    }

private:
    uint64_t state_;
};

} // namespace idem::fuzz
