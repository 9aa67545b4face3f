#pragma once

#include <idem/error.hpp>

#include <string>

namespace idem::fuzz {

/// The SQLSTATE with which the client refuses, or "" where it does not.
template <typename F>
std::string refusal_of(F action)
{
    try {
        action();
    } catch (const client::Error &error) {
        return error.sqlstate();
    }
    return "";
}

} // namespace idem::fuzz
