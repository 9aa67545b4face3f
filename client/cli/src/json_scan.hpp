#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace idem::cli {

/// A text that is not JSON, and why; it shows nothing of the text.
class JsonError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

enum class JsonKind { null, boolean, number, string, array, object };

/// A JSON value as it stands in the text, blanks around it left out: no digit and no escape is changed.
struct JsonSlice {
    JsonKind kind = JsonKind::null;
    std::string_view text;
};

/// Checks that the text is one JSON value (RFC 8259), however deep, and nothing else. Octets from 0x80 on are taken as
/// they are. Throws JsonError.
JsonSlice scan_json(std::string_view text);

/// Calls `take` for each member of the object that the text is, in their order. Throws JsonError, also where it is
/// another value; it may have taken some members then.
void scan_members(std::string_view text,
                  const std::function<void(const std::string &name, const JsonSlice &value)> &take);

/// The characters that a JSON string stands for, in UTF-8. Throws JsonError where it holds half a surrogate pair.
std::string decode_json_string(std::string_view slice);

} // namespace idem::cli
