#include <idem/key.hpp>

#include "text.h"
#include "uuid.h"
#include "uuid_text.h"

#include <openssl/rand.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

namespace idem::client {
namespace {

[[noreturn]] void refuse_header()
{
    throw Error("22023", "the Idempotency-Key header is neither a string nor a token");
}

bool is_visible(char c)
{
    return c > 0x20 && c < 0x7F;
}

// Optional white space, RFC 9110 section 5.6.3.
std::string_view trim(std::string_view text)
{
    constexpr std::string_view kBlanks = " \t";
    const std::size_t first = text.find_first_not_of(kBlanks);
    return first == std::string_view::npos ? std::string_view{}
                                           : text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// Reads a string of RFC 8941 section 3.3.3 up to its closing quote.
std::string unquote(std::string_view value)
{
    std::string text;
    for (std::size_t at = 1; at < value.size(); ++at) {
        char c = value[at];
        if (c == '"') {
            const std::string_view rest = trim(value.substr(at + 1));
            if (!rest.empty() && rest.front() != ';') {
                refuse_header();
            }
            return text;
        }
        if (c == '\\') {
            c = ++at < value.size() ? value[at] : '\0';
            if (c != '"' && c != '\\') {
                refuse_header();
            }
        } else if (!is_visible(c) && c != ' ') {
            refuse_header();
        }
        text += c;
    }
    refuse_header();
}

// A comma would join two fields into one key, and a semicolon begins parameters, which a raw token has not.
bool is_raw_character(char c)
{
    return is_visible(c) && c != '"' && c != ',' && c != ';' && c != '\\';
}

} // namespace

Key Key::make()
{
    core::UuidRandom random;
    if (RAND_bytes(random.data(), static_cast<int>(random.size())) != 1) {
        throw Error("58000", "could not get random bytes from OpenSSL");
    }
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const auto microseconds = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
    return Key(uuid_text(core::make_uuid7(microseconds, random).data()));
}

Key::Key(std::string text) : text_(std::move(text))
{
    check_text(core::kKeyRule, text_);
}

Key Key::from_header(std::string_view value)
{
    value = trim(value);
    if (!value.empty() && value.front() == '"') {
        return Key(unquote(value));
    }
    if (!std::all_of(value.begin(), value.end(), is_raw_character)) {
        refuse_header();
    }
    return Key(std::string(value));
}

} // namespace idem::client
