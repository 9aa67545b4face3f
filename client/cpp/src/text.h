#pragma once

#include "error.h"
#include "raise.h"
#include "request.h"

#include <string_view>

namespace idem::client {

/// Calls the core, and throws its errors as those of the client.
template <typename F>
auto by_core(F call) -> decltype(call())
{
    try {
        return call();
    } catch (const core::Error &error) {
        raise({error.sqlstate(), error.message(), error.detail(), error.hint()});
    }
}

/// Throws Error 22021 where a text is not valid UTF-8, as the server judges it.
void check_utf8(const char *argument, std::string_view text);

/// Checks an identifying text as the server does: encoding, length, characters. Throws Error 22021 or 22023.
void check_text(const core::TextRule &rule, std::string_view text);

} // namespace idem::client
