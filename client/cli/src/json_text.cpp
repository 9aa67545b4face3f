#include "json_text.hpp"

#include <escape.h> // idem::core::append_escaped

#include <algorithm>

namespace idem::cli {

void JsonObject::begin(std::string_view name)
{
    text_ += text_.size() > 1 ? ", " : "";
    core::append_escaped(text_, name, core::Escape::unprintable);
    text_ += ": ";
}

void JsonObject::text(std::string_view name, std::string_view value)
{
    begin(name);
    core::append_escaped(text_, value, core::Escape::unprintable);
}

void JsonObject::text_or_null(std::string_view name, const std::optional<std::string> &value)
{
    if (value) {
        text(name, *value);
    } else {
        raw(name, "null");
    }
}

void JsonObject::number(std::string_view name, std::int64_t value)
{
    raw(name, std::to_string(value));
}

void JsonObject::raw(std::string_view name, std::string_view json)
{
    begin(name);
    text_ += json;
}

std::string printable(std::string_view text)
{
    std::string shown;
    while (!text.empty()) {
        // Quotes and backslashes are harmless here; only what is between them takes the escapes of JSON.
        const std::size_t end = std::min(text.find_first_of("\"\\"), text.size());
        std::string quoted;
        core::append_escaped(quoted, text.substr(0, end), core::Escape::unprintable);
        shown.append(quoted, 1, quoted.size() - 2);
        shown += text.substr(end, 1);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return shown;
}

} // namespace idem::cli
