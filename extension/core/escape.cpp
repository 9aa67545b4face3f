#include "escape.h"

#include "canonical.h"
#include "utf8.h"

namespace idem::core {
namespace {

bool must_escape(char32_t character, Escape escape)
{
    return (character >= 0x7F && (character < 0xA0 || escape == Escape::non_ascii)) || character == 0x2028 ||
           character == 0x2029;
}

void append_unit(std::string &out, char32_t unit)
{
    constexpr char kHex[] = "0123456789abcdef";
    out += "\\u";
    for (int shift = 12; shift >= 0; shift -= 4) {
        out += kHex[(unit >> shift) & 0xF];
    }
}

} // namespace

void append_escaped(std::string &out, std::string_view utf8, Escape escape)
{
    std::string quoted;
    append_string(quoted, utf8);
    for (size_t at = 0; at < quoted.size();) {
        const size_t start = at;
        const char32_t character = next_character(quoted, at);
        if (!must_escape(character, escape)) {
            out.append(quoted, start, at - start);
        } else if (character < 0x10000) {
            append_unit(out, character);
        } else {
            append_unit(out, 0xD800 + ((character - 0x10000) >> 10));
            append_unit(out, 0xDC00 + ((character - 0x10000) & 0x3FF));
        }
    }
}

} // namespace idem::core
