#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace idem::fuzz {

// The rules for text once more, from docs/reference.md alone.

/// The code points of a text; nothing where it is not UTF-8.
std::optional<std::vector<unsigned>> slow_characters(std::string_view text);

/// The SQLSTATE that refuses an identifying text of at most `limit` octets, or "" where it is fine.
std::string slow_text_refusal(std::string_view text, size_t limit);

} // namespace idem::fuzz
