#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace idem::core {

/// An exact decimal number in base 10000, as PostgreSQL's numeric is sent over the wire: the value is the sum of
/// digits[i] * 10000^(weight - i). No digits at all: zero. Leading and trailing zero digits are allowed.
struct Decimal {
    bool negative = false;
    int weight = 0;
    std::vector<uint16_t> digits;
    int scale = 0; // digits behind the point where it is printed; no part of the value
};

/// How many zeros PostgreSQL prints that `number` does not hold: it never uses an exponent. A few count for none, as a
/// request may write them itself.
size_t printed_zeros(const Decimal &number);

/// Append `number` in the layout of ECMAScript's Number::toString (which RFC 8785 section 3.2.2.3 prescribes), with
/// every digit of the exact value: plain for 1e-6 <= |x| < 1e21, else d.ddde+X. Never expands an exponent.
void append_number(std::string &out, const Decimal &number);

/// The same for an integer; every int64 is below 1e21, so that it is plain digits.
void append_number(std::string &out, int64_t number);

} // namespace idem::core
