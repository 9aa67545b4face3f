#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace idem::core {

/// One text argument and its longest value, in octets of the database encoding.
struct TextRule {
    const char *argument;
    size_t max_octets;
};

inline constexpr TextRule kTenantRule{"tenant_id", 255};
inline constexpr TextRule kKeyRule{"idempotency_key", 255};
inline constexpr TextRule kOperationRule{"operation", 100};
inline constexpr TextRule kOrderRefRule{"order_ref", 255};

/// Throw Error 22004 that names the argument.
[[noreturn]] void refuse_null(const char *argument);

/// Check the length of an identifying text, in octets of the database encoding: not empty, within the limit. Throws
/// Error 22023.
void check_length(const TextRule &rule, size_t octets);

/// Check its characters: no white space (Unicode White_Space) at either end, no control character (Unicode Cc)
/// anywhere. The text is never changed: keys compare byte for byte. Throws Error 22023.
void check_characters(const TextRule &rule, std::string_view utf8);

/// Check for three letters A-Z (the form of ISO 4217; the code itself is not looked up). Throws Error 22023.
void check_currency(std::string_view currency);

/// Check an amount in the currency's minor unit: above zero. Throws Error 22023.
void check_amount(int64_t amount_minor);

/// Check that details is a JSON object. Throws Error 22023.
void check_details(bool is_object);

} // namespace idem::core
