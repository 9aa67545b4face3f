#pragma once

#include <cstddef>
#include <string>

namespace idem::client::test {

/// The text of a literal, with the NULs in it.
template <std::size_t N>
std::string text(const char (&literal)[N])
{
    return {literal, N - 1};
}

} // namespace idem::client::test
