#pragma once

#include <cstddef>
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

} // namespace idem::core
