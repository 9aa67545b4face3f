#pragma once

#include <idem/export.hpp>

#include <compare>
#include <string>
#include <string_view>

namespace idem::client {

/// The idempotency key of one business action. Make it once, where the action begins (when the form is shown, when the
/// message is queued), store it with the action, and send the same key on every try.
class IDEM_CLIENT_API Key {
public:
    /// A new key: a UUID of version 7 (RFC 9562) as text, 36 characters. Call it once per action, never per attempt.
    /// Throws Error 58000 where the system has no random bytes.
    [[nodiscard]] static Key make();

    /// Takes a key that exists. Throws Error 22023 where it is empty, longer than 255 octets, begins or ends with white
    /// space or holds a control character (NUL too), and Error 22021 where it is not valid UTF-8.
    explicit Key(std::string text);

    /// Takes the value of an HTTP field `Idempotency-Key`: a string of RFC 8941 section 3.3.3 (`"8e03978e-40d5"`),
    /// whose quotes and escapes are removed and whose parameters are ignored, or a raw token as many services send it
    /// (`8e03978e-40d5`). Blanks around it are ignored. Throws as the constructor does, and Error 22023 for a value
    /// that is neither.
    [[nodiscard]] static Key from_header(std::string_view value);

    [[nodiscard]] const std::string &text() const noexcept { return text_; }

    /// Keys are compared octet by octet, as the server compares them.
    friend auto operator<=>(const Key &,
                            const Key &) = default; // NOLINT(modernize-use-nullptr): not what it takes it for

private:
    std::string text_;
};

} // namespace idem::client
