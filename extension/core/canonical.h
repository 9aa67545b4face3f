#pragma once

#include "errcodes.h"
#include "error.h"
#include "json.h"

#include <string>
#include <string_view>

namespace idem::core {

/// The longest canonical form, in octets: what one PostgreSQL text value can hold.
inline constexpr size_t kMaxCanonicalOctets = 0x3fffffff - 4;

/// Append `text` as a JSON string in the form of RFC 8785 section 3.2.2.2.
void append_string(std::string &out, std::string_view text);

/// Append the canonical form, version 1 (docs/fingerprint.md), of `value`.
/// Throws Error 54000 beyond kMaxCanonicalOctets, and what value.child() throws.
template <JsonValue V>
void append_canonical(std::string &out, const V &value)
{
    switch (value.kind()) {
    case JsonKind::null:
        out += "null";
        break;
    case JsonKind::boolean:
        out += value.boolean() ? "true" : "false";
        break;
    case JsonKind::number:
        append_number(out, value.number());
        break;
    case JsonKind::string:
        append_string(out, value.string());
        break;
    case JsonKind::array:
        out += '[';
        for (size_t index = 0; index < value.size(); ++index) {
            if (index > 0) {
                out += ',';
            }
            append_canonical(out, value.child(index));
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
            append_canonical(out, value.child(member.index));
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

} // namespace idem::core
