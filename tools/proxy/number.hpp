#pragma once

#include <charconv>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

namespace idem::proxy {

// Reads a whole number or a fraction, not below zero; what else it is throws std::invalid_argument.
template <typename T>
T read_number(std::string_view text)
{
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !(value >= T{})) {
        throw std::invalid_argument("no fitting number: " + std::string(text));
    }
    return value;
}

} // namespace idem::proxy
