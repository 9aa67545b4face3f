#pragma once

#include "document.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace idem::fuzz {

/// A member of the outermost object, as it stands in the text.
struct SlowMember {
    std::string name;
    Document value;
    std::string_view raw;    // the value's text
    bool half_name = false;  // the name holds half of a surrogate pair
    bool half_value = false; // so does the value
};

/// What a text is by RFC 8259, read as jsonb reads it: of members with one name the last one counts.
struct SlowJson {
    Document document = {};
    std::vector<SlowMember> members = {}; // of the outermost object, all of them, in the order of the text
    bool half_pair = false;               // a string holds half of a surrogate pair, which no UTF-8 can stand for
    bool deep = false;                    // deeper than this reader goes; the rest means nothing
};

/// Reads a text; nothing where it is no JSON. Octets beyond ASCII are taken as they are.
std::optional<SlowJson> slow_json(std::string_view text);

} // namespace idem::fuzz
