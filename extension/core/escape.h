#pragma once

#include <string>
#include <string_view>

namespace idem::core {

/// Which characters are escaped beside those that JSON demands.
enum class Escape {
    unprintable, // DEL, U+0080 to U+009F, U+2028 and U+2029: JSON leaves them alone, but a terminal or a log reader may
                 // act on them
    non_ascii    // these and all others beyond ASCII: the result is the same in every encoding
};

/// Append valid UTF-8 as a JSON string that cannot forge a line of a log.
void append_escaped(std::string &out, std::string_view utf8, Escape escape);

} // namespace idem::core
