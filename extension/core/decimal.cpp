#include "decimal.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace idem::core {
namespace {

constexpr int kDigitsPerGroup = 4; // decimal digits in one base-10000 digit
constexpr int kPlainLimit = 21;    // ECMAScript: more integer digits than this get an exponent
constexpr int kSmallLimit = -6;    // ECMAScript: 0.000001 is plain, 1e-7 is not
constexpr int kFewZeros = 16;

// The decimal digits of all groups, leading zeros included.
std::string decimal_digits(const std::vector<uint16_t> &groups)
{
    std::string digits;
    digits.reserve(groups.size() * kDigitsPerGroup);
    for (const unsigned group : groups) {
        digits += static_cast<char>('0' + group / 1000);
        digits += static_cast<char>('0' + group / 100 % 10);
        digits += static_cast<char>('0' + group / 10 % 10);
        digits += static_cast<char>('0' + group % 10);
    }
    return digits;
}

} // namespace

size_t printed_zeros(const Decimal &number)
{
    const int groups = static_cast<int>(number.digits.size());
    const int before = number.weight + 1; // groups before the point
    const int behind = std::clamp(groups - before, 0, groups);
    const int zeros =
        std::max(before - groups, 0) * kDigitsPerGroup + std::max(number.scale - behind * kDigitsPerGroup, 0);
    return zeros > kFewZeros ? static_cast<size_t>(zeros) : 0;
}

void append_number(std::string &out, int64_t number)
{
    char buffer[24];
    out.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, number).ptr);
}

void append_number(std::string &out, const Decimal &number)
{
    std::string digits = decimal_digits(number.digits);
    const size_t leading = digits.find_first_not_of('0');
    if (leading == std::string::npos) {
        out += '0'; // also for -0
        return;
    }
    digits.erase(digits.find_last_not_of('0') + 1);
    digits.erase(0, leading);

    // The value is 0.d1d2d3... * 10^point, as in ECMAScript's Number::toString (k = count, n = point).
    const int count = static_cast<int>(digits.size());
    const int point = (number.weight + 1) * kDigitsPerGroup - static_cast<int>(leading);
    if (number.negative) {
        out += '-';
    }
    if (count <= point && point <= kPlainLimit) {
        out += digits;
        out.append(static_cast<size_t>(point - count), '0');
    } else if (0 < point && point <= kPlainLimit) {
        out.append(digits, 0, static_cast<size_t>(point));
        out += '.';
        out.append(digits, static_cast<size_t>(point));
    } else if (kSmallLimit < point && point <= 0) {
        out += "0.";
        out.append(static_cast<size_t>(-point), '0');
        out += digits;
    } else {
        const int exponent = point - 1;
        out += digits[0];
        if (count > 1) {
            out += '.';
            out.append(digits, 1);
        }
        out += exponent < 0 ? "e-" : "e+";
        append_number(out, static_cast<int64_t>(std::abs(exponent)));
    }
}

} // namespace idem::core
