#pragma once

#include <array>
#include <cstddef>
#include <string>

namespace idem::core::test {

/// Octets as lower-case hexadecimal digits.
template <size_t N>
std::string hex(const std::array<unsigned char, N> &octets)
{
    constexpr char kDigits[] = "0123456789abcdef";
    std::string out;
    for (const unsigned char octet : octets) {
        out += kDigits[octet >> 4];
        out += kDigits[octet & 0xF];
    }
    return out;
}

} // namespace idem::core::test
