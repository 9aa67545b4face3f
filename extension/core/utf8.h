#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace idem::core {

/// Decode the UTF-8 sequence that starts at `at` and move behind it; the text is known to be valid.
inline char32_t next_character(std::string_view utf8, size_t &at)
{
    const auto octet = [&](size_t i) { return static_cast<unsigned char>(utf8[i]); };
    const unsigned lead = octet(at);
    const size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    char32_t character = length == 1 ? lead : lead & (0xFFU >> (length + 1));
    for (size_t i = 1; i < length; ++i) {
        character = (character << 6) | (octet(at + i) & 0x3FU);
    }
    at += length;
    return character;
}

/// Append one code point as UTF-8.
inline void append_character(std::string &out, char32_t character)
{
    const auto put = [&out](char32_t octet) { out += static_cast<char>(static_cast<unsigned char>(octet)); };
    if (character < 0x80) {
        put(character);
    } else if (character < 0x800) {
        put(0xC0 | (character >> 6));
        put(0x80 | (character & 0x3F));
    } else if (character < 0x10000) {
        put(0xE0 | (character >> 12));
        put(0x80 | ((character >> 6) & 0x3F));
        put(0x80 | (character & 0x3F));
    } else {
        put(0xF0 | (character >> 18));
        put(0x80 | ((character >> 12) & 0x3F));
        put(0x80 | ((character >> 6) & 0x3F));
        put(0x80 | (character & 0x3F));
    }
}

/// How many octets the sequence of two or more has that the text starts with, which is not empty; 0 where there is none
/// (RFC 3629 section 4).
inline size_t sequence_length(std::string_view text) noexcept
{
    const auto octet = [&text](size_t i) -> unsigned { return static_cast<unsigned char>(text[i]); };
    const auto within = [&](size_t i, unsigned low, unsigned high) {
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

/// Whether the octets are UTF-8 as PostgreSQL takes it: shortest forms only, no surrogates, nothing above U+10FFFF.
inline bool is_utf8(std::string_view text) noexcept
{
    while (true) {
        const auto *const next =
            std::find_if(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
        text.remove_prefix(static_cast<size_t>(next - text.begin()));
        if (text.empty()) {
            return true;
        }
        const size_t length = sequence_length(text);
        if (length == 0) {
            return false;
        }
        text.remove_prefix(length);
    }
}

} // namespace idem::core
