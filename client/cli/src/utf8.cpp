#include "utf8.hpp"

#include <algorithm>
#include <cstdint>

namespace idem::cli {
namespace {

// How many octets the sequence has that starts here; 0 where there is none.
std::size_t sequence_length(std::string_view text) noexcept
{
    const auto octet = [&text](std::size_t i) -> unsigned { return static_cast<unsigned char>(text[i]); };
    const auto within = [&](std::size_t i, unsigned low, unsigned high) {
        return i < text.size() && octet(i) >= low && octet(i) <= high;
    };
    const unsigned lead = octet(0);
    // The second octet's range keeps out longer forms than needed, surrogates and what is beyond U+10FFFF.
    if (lead >= 0xC2 && lead <= 0xDF) {
        return within(1, 0x80, 0xBF) ? 2 : 0;
    }
    if (lead >= 0xE0 && lead <= 0xEF) {
        const bool second = within(1, lead == 0xE0 ? 0xA0 : 0x80, lead == 0xED ? 0x9F : 0xBF);
        return second && within(2, 0x80, 0xBF) ? 3 : 0;
    }
    if (lead >= 0xF0 && lead <= 0xF4) {
        const bool second = within(1, lead == 0xF0 ? 0x90 : 0x80, lead == 0xF4 ? 0x8F : 0xBF);
        return second && within(2, 0x80, 0xBF) && within(3, 0x80, 0xBF) ? 4 : 0;
    }
    return 0;
}

} // namespace

bool is_utf8(std::string_view text) noexcept
{
    while (true) {
        const auto *const next =
            std::find_if(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
        text.remove_prefix(static_cast<std::size_t>(next - text.begin()));
        if (text.empty()) {
            return true;
        }
        const std::size_t length = sequence_length(text);
        if (length == 0) {
            return false;
        }
        text.remove_prefix(length);
    }
}

} // namespace idem::cli
