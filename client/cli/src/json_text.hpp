#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace idem::cli {

/// One JSON object on one line, member by member.
class JsonObject {
public:
    void text(std::string_view name, std::string_view value);
    /// null where there is no value.
    void text_or_null(std::string_view name, const std::optional<std::string> &value);
    void number(std::string_view name, std::int64_t value);
    /// What is JSON already: it is written as it stands.
    void raw(std::string_view name, std::string_view json);

    /// The object, without a line end.
    [[nodiscard]] std::string str() const { return text_ + "}"; }

private:
    void begin(std::string_view name);

    std::string text_ = "{";
};

/// The text as it can be shown on a terminal: what would act there is written as an escape. It must be UTF-8.
std::string printable(std::string_view text);

} // namespace idem::cli
