#pragma once

#include "error.h"

#include <optional>
#include <string_view>

namespace idem::core::test {

/// The Error that `action` throws, or nothing.
template <typename F>
std::optional<Error> error_of(F action)
{
    try {
        action();
    } catch (const Error &error) {
        return error;
    }
    return std::nullopt;
}

/// Whether an Error carries this SQLSTATE and this message; false where nothing was thrown.
inline bool is_error(const std::optional<Error> &error, std::string_view sqlstate, std::string_view message)
{
    return error && sqlstate == error->sqlstate() && message == error->message();
}

} // namespace idem::core::test
