#include "slow_text.h"

#include <algorithm>

namespace idem::fuzz {
namespace {

// How many octets UTF-8 takes for a code point.
size_t octets_of(unsigned character)
{
    return character < 128 ? 1 : character < 2048 ? 2 : character < 65536 ? 3 : 4;
}

bool is_blank(unsigned character)
{
    static const std::vector<unsigned> blanks{0x0020, 0x00A0, 0x1680, 0x2000, 0x2001, 0x2002, 0x2003,
                                              0x2004, 0x2005, 0x2006, 0x2007, 0x2008, 0x2009, 0x200A,
                                              0x2028, 0x2029, 0x202F, 0x205F, 0x3000};
    return std::find(blanks.begin(), blanks.end(), character) != blanks.end();
}

bool is_control(unsigned character)
{
    return character <= 0x1F || (character >= 0x7F && character <= 0x9F);
}

} // namespace

std::optional<std::vector<unsigned>> slow_characters(std::string_view text)
{
    std::vector<unsigned> characters;
    while (!text.empty()) {
        // Whatever the octets say: then it is checked that this is the way to write the code point.
        const unsigned lead = static_cast<unsigned char>(text[0]);
        const size_t length = lead < 0x80   ? 1
                              : lead < 0xC0 ? 0
                              : lead < 0xE0 ? 2
                              : lead < 0xF0 ? 3
                              : lead < 0xF8 ? 4
                                            : 0;
        if (length == 0 || text.size() < length) {
            return std::nullopt;
        }
        constexpr unsigned kFirst[] = {0, 0, 0xC0, 0xE0, 0xF0};
        unsigned character = lead - kFirst[length];
        for (size_t i = 1; i < length; ++i) {
            const unsigned octet = static_cast<unsigned char>(text[i]);
            if (octet / 64 != 2) {
                return std::nullopt;
            }
            character = character * 64 + octet % 64;
        }
        if (octets_of(character) != length || character > 0x10FFFF || (character >= 0xD800 && character <= 0xDFFF)) {
            return std::nullopt;
        }
        characters.push_back(character);
        text.remove_prefix(length);
    }
    return characters;
}

std::string slow_text_refusal(std::string_view text, size_t limit)
{
    const auto characters = slow_characters(text);
    if (!characters) {
        return "22021";
    }
    const bool fine = !text.empty() && text.size() <= limit && !is_blank(characters->front()) &&
                      !is_blank(characters->back()) && std::none_of(characters->begin(), characters->end(), is_control);
    return fine ? "" : "22023";
}

} // namespace idem::fuzz
