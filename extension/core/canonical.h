#pragma once

#include "errcodes.h"
#include "error.h"
#include "json.h"

#include <string>
#include <string_view>

namespace idem::core {

/// The longest canonical form, in octets: what one PostgreSQL text value can hold.
inline constexpr size_t kMaxCanonicalOctets = 0x3fffffff - 4;

/// The most zeros that all numbers of a request together may add where PostgreSQL prints them: numbers such as 1e131071
/// are stored in a few octets, and some thousands of them make a row that no dump can write.
inline constexpr size_t kMaxPrintedZeros = size_t{1} << 20;

/// Append `text` as a JSON string in the form of RFC 8785 section 3.2.2.2.
void append_string(std::string &out, std::string_view text);

/// Append the canonical form, version 1 (docs/fingerprint.md), of `value`.
/// Throws Error 54000 beyond kMaxCanonicalOctets, and what value.child() throws.
/// `zeros` counts what PostgreSQL adds where it prints the numbers.
template <JsonValue V>
void append_canonical(std::string &out, const V &value, size_t &zeros)
{
    switch (value.kind()) {
    case JsonKind::null:
        out += "null";
        break;
    case JsonKind::boolean:
        out += value.boolean() ? "true" : "false";
        break;
    case JsonKind::number: {
        const Decimal number = value.number();
        zeros += printed_zeros(number);
        append_number(out, number);
        break;
    }
    case JsonKind::string:
        append_string(out, value.string());
        break;
    case JsonKind::array:
        out += '[';
        for (size_t index = 0; index < value.size(); ++index) {
            if (index > 0) {
                out += ',';
            }
            append_canonical(out, value.child(index), zeros);
        }
        out += ']';
        break;
    case JsonKind::object: {
        out += '{';
        const char *separator = "";
        for (const JsonMember &member : sorted_members(value)) {
            out += separator;
            separator = ",";
            append_string(out, member.name);
            out += ':';
            append_canonical(out, value.child(member.index), zeros);
        }
        out += '}';
        break;
    }
    }
    if (out.size() > kMaxCanonicalOctets) {
        throw Error(sqlstate::kLimitExceeded, "canonical form is too long",
                    "The limit is " + std::to_string(kMaxCanonicalOctets) + " octets.");
    }
}

/// The same without the count.
template <JsonValue V>
void append_canonical(std::string &out, const V &value)
{
    size_t zeros = 0;
    append_canonical(out, value, zeros);
}

/// Throw Error 54000 where the numbers of a request add too many zeros.
void check_printed_zeros(size_t zeros);

} // namespace idem::core
