#pragma once

#include <cstdio>
#include <cstdlib>

namespace idem::fuzz {

/// Ends the process, and so makes a finding of the input, where a property does not hold.
inline void require(bool holds, const char *property)
{
    if (!holds) {
        (void)std::fprintf(stderr, "VIOLATED: %s\n", property);
        std::abort();
    }
}

} // namespace idem::fuzz
