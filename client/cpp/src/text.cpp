#include "text.h"

#include <cstddef>
#include <string>

namespace idem::client {
namespace {

// The octets of the sequence that the text starts with, or 0 where it is none. Overlong forms, surrogates and what is
// above U+10FFFF are none: RFC 3629 section 4.
std::size_t sequence_length(std::string_view text)
{
    const auto octet = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned lead = octet(0);
    if (lead < 0x80) {
        return 1;
    }
    const std::size_t length = lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
    if (length == 0 || text.size() < length) {
        return 0;
    }
    for (std::size_t i = 1; i < length; ++i) {
        if ((octet(i) & 0xC0U) != 0x80U) {
            return 0;
        }
    }
    const unsigned second = octet(1);
    const bool refused = (lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) ||
                         (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F);
    return refused ? 0 : length;
}

} // namespace

void check_utf8(const char *argument, std::string_view text)
{
    while (!text.empty()) {
        const std::size_t length = sequence_length(text);
        if (length == 0) {
            throw Error("22021", std::string(argument) + " is not valid UTF-8");
        }
        text.remove_prefix(length);
    }
}

void check_text(const core::TextRule &rule, std::string_view text)
{
    check_utf8(rule.argument, text);
    by_core([&] {
        core::check_length(rule, text.size());
        core::check_characters(rule, text);
    });
}

} // namespace idem::client
