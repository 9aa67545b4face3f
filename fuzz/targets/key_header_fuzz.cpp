// The HTTP field Idempotency-Key: the input is its value.

#include "refusal.h"
#include "require.h"
#include "slow_text.h"

#include <idem/key.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace idem::fuzz {
namespace {

// The key in a field, by RFC 8941 section 4.2.5 for a string, else as a raw token; nothing where it is neither.
std::optional<std::string> slow_header(std::string value)
{
    const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
    while (!value.empty() && is_blank(value.front())) {
        value.erase(0, 1);
    }
    while (!value.empty() && is_blank(value.back())) {
        value.pop_back();
    }
    if (value.empty() || value.front() != '"') {
        const auto is_token = [](char c) {
            return c >= '!' && c <= '~' && std::string_view("\",;\\").find(c) == std::string_view::npos;
        };
        return std::all_of(value.begin(), value.end(), is_token) ? std::optional(value) : std::nullopt;
    }
    std::string key;
    std::string input = value.substr(1);
    while (!input.empty()) {
        const char c = input.front();
        input.erase(0, 1);
        if (c == '\\') {
            if (input.empty() || (input.front() != '"' && input.front() != '\\')) {
                return std::nullopt;
            }
            key += input.front();
            input.erase(0, 1);
        } else if (c == '"') {
            while (!input.empty() && is_blank(input.front())) {
                input.erase(0, 1);
            }
            return input.empty() || input.front() == ';' ? std::optional(key) : std::nullopt;
        } else if (c < ' ' || c > '~') {
            return std::nullopt;
        } else {
            key += c;
        }
    }
    return std::nullopt;
}

// A key as RFC 8941 section 4.1.6 writes a string.
std::string as_string(const std::string &key)
{
    std::string value = "\"";
    for (const char c : key) {
        value += c == '"' || c == '\\' ? "\\" : "";
        value += c;
    }
    return value + "\"";
}

void check_written(const std::string &key)
{
    require(client::Key::from_header(as_string(key)).text() == key, "a key that is written as a string is read back");
    require(client::Key::from_header("\t " + as_string(key) + " ;a=1; b=\"x\" ").text() == key,
            "blanks and parameters around a key mean nothing");
    const auto is_token = [](char c) {
        return c > ' ' && std::string_view("\",;\\").find(c) == std::string_view::npos;
    };
    require(!std::all_of(key.begin(), key.end(), is_token) || client::Key::from_header(key).text() == key,
            "a key that is written as a token is read back");
}

} // namespace
} // namespace idem::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    using namespace idem::fuzz;
    const std::string value(reinterpret_cast<const char *>(data), size);
    const std::optional<std::string> expected = slow_header(value);
    const std::string refusal = expected ? slow_text_refusal(*expected, 255) : "22023";
    std::string read;
    require(refusal_of([&] { read = idem::client::Key::from_header(value).text(); }) == refusal,
            "a field is refused exactly where it holds no key");
    if (refusal.empty()) {
        require(read == *expected, "the key is the one in the field");
        check_written(read);
    }
    // The same octets as a key.
    const bool visible = std::all_of(value.begin(), value.end(), [](char c) { return c >= ' ' && c <= '~'; });
    if (visible && slow_text_refusal(value, 255).empty()) {
        check_written(value);
    }
    return 0;
}
