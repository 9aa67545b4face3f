#include "json.h"

#include <utility>

namespace idem::core {
namespace {

// In UTF-16 the code points above U+FFFF are surrogates (D800-DFFF) and so sort before U+E000-U+FFFF, whose UTF-8
// starts with EE or EF. Moving those two lead bytes behind F0-F4 turns a comparison of UTF-8 bytes into one of UTF-16
// units.
unsigned utf16_rank(char octet)
{
    const auto byte = static_cast<unsigned char>(octet);
    if (byte == 0xEE || byte == 0xEF) {
        return byte + 0x10U;
    }
    return byte;
}

} // namespace

bool utf16_less(std::string_view left, std::string_view right)
{
    const auto [l, r] = std::mismatch(left.begin(), left.end(), right.begin(), right.end());
    if (l == left.end() || r == right.end()) {
        return left.size() < right.size();
    }
    return utf16_rank(*l) < utf16_rank(*r);
}

} // namespace idem::core
