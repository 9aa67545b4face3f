#include "request.h"

#include "errcodes.h"
#include "error.h"
#include "utf8.h"

#include <algorithm>
#include <string>

namespace idem::core {
namespace {

[[noreturn]] void refuse(const std::string &message, const std::string &detail = {})
{
    throw Error(sqlstate::kInvalidParameter, message, detail);
}

// General category Cc of the Unicode Standard.
bool is_control(char32_t character)
{
    return character < 0x20 || (character >= 0x7F && character < 0xA0);
}

// Property White_Space of the Unicode Standard, less the control characters.
bool is_blank(char32_t character)
{
    return character == 0x20 || character == 0xA0 || character == 0x1680 ||
           (character >= 0x2000 && character <= 0x200A) || character == 0x2028 || character == 0x2029 ||
           character == 0x202F || character == 0x205F || character == 0x3000;
}

} // namespace

void refuse_null(const char *argument)
{
    throw Error(sqlstate::kNullValue, std::string(argument) + " must not be null");
}

void check_length(const TextRule &rule, size_t octets)
{
    const std::string argument = rule.argument;
    if (octets == 0) {
        refuse(argument + " must not be empty");
    }
    if (octets > rule.max_octets) {
        refuse(argument + " is too long",
               "It has " + std::to_string(octets) + " octets; the limit is " + std::to_string(rule.max_octets) + ".");
    }
}

void check_characters(const TextRule &rule, std::string_view utf8)
{
    const std::string argument = rule.argument;
    char32_t character = 0;
    for (size_t at = 0; at < utf8.size();) {
        const bool first = at == 0;
        character = next_character(utf8, at);
        if (is_control(character)) {
            refuse(argument + " must not contain control characters");
        }
        if (first && is_blank(character)) {
            refuse(argument + " must not start with a blank");
        }
    }
    if (is_blank(character)) {
        refuse(argument + " must not end with a blank");
    }
}

void check_currency(std::string_view currency)
{
    if (currency.size() != 3 ||
        !std::all_of(currency.begin(), currency.end(), [](char c) { return c >= 'A' && c <= 'Z'; })) {
        refuse("currency must be three letters A-Z");
    }
}

void check_amount(int64_t amount_minor)
{
    if (amount_minor <= 0) {
        refuse("amount_minor must be greater than zero");
    }
}

void check_details(bool is_object)
{
    if (!is_object) {
        refuse("details must be a JSON object");
    }
}

} // namespace idem::core
