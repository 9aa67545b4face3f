#pragma once

#include <string_view>

namespace idem::cli {

/// Whether the octets are UTF-8 as PostgreSQL takes it: shortest forms only, no surrogates, nothing above U+10FFFF.
bool is_utf8(std::string_view text) noexcept;

} // namespace idem::cli
