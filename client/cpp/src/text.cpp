#include "text.h"

#include "utf8.h"

#include <string>

namespace idem::client {

void check_utf8(const char *argument, std::string_view text)
{
    if (!core::is_utf8(text)) {
        throw Error("22021", std::string(argument) + " is not valid UTF-8");
    }
}

void check_text(const core::TextRule &rule, std::string_view text)
{
    check_utf8(rule.argument, text);
    by_core([&] {
        core::check_length(rule, text.size());
        core::check_characters(rule, text);
    });
}

} // namespace idem::client
