#pragma once

#include <idem/error.hpp>

#include <optional>
#include <string>

namespace idem::client::test {

/// The Error of the class that `action` throws, or nothing where it throws none of it.
template <typename Class = Error, typename F>
std::optional<Class> error_of(F action)
{
    try {
        action();
    } catch (const Error &error) {
        if (const auto *wanted = dynamic_cast<const Class *>(&error)) {
            return *wanted;
        }
    }
    return std::nullopt;
}

/// The SQLSTATE of the Error that `action` throws, or `none`.
template <typename F>
std::string sqlstate_of(F action)
{
    const auto error = error_of(action);
    return error ? error->sqlstate() : "none";
}

} // namespace idem::client::test
