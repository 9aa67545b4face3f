#include "canonical.h"

namespace idem::core {
namespace {

// The letter of a two-character escape, or 0 where JSON has none that RFC 8785 uses.
char short_escape(char octet)
{
    switch (octet) {
    case '"':
    case '\\':
        return octet;
    case '\b':
        return 'b';
    case '\t':
        return 't';
    case '\n':
        return 'n';
    case '\f':
        return 'f';
    case '\r':
        return 'r';
    default:
        return 0;
    }
}

bool needs_escape(char octet)
{
    return static_cast<unsigned char>(octet) < 0x20 || octet == '"' || octet == '\\';
}

} // namespace

void check_printed_zeros(size_t zeros)
{
    if (zeros > kMaxPrintedZeros) {
        throw Error(sqlstate::kLimitExceeded, "numbers are too long where they are printed",
                    "Exponents may add " + std::to_string(kMaxPrintedZeros) + " zeros to all numbers together.");
    }
}

void append_string(std::string &out, std::string_view text)
{
    constexpr char kHex[] = "0123456789abcdef";
    out += '"';
    size_t copied = 0;
    for (size_t i = 0; i < text.size(); ++i) {
        const char octet = text[i];
        if (!needs_escape(octet)) {
            continue;
        }
        out.append(text, copied, i - copied);
        copied = i + 1;
        out += '\\';
        if (const char letter = short_escape(octet)) {
            out += letter;
        } else {
            out += "u00";
            out += kHex[octet >> 4];
            out += kHex[octet & 0xf];
        }
    }
    out.append(text, copied);
    out += '"';
}

} // namespace idem::core
