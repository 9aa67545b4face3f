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

/// Check an identifying text: not empty, within the limit (`octets`: its length in the database encoding), no white
/// space (Unicode White_Space) at either end, no control character (Unicode Cc). `utf8` is never changed: keys compare
/// byte for byte. Throws Error 22023.
void check_text(const TextRule &rule, std::string_view utf8, size_t octets);

/// Check for three letters A-Z (the form of ISO 4217; the code itself is not looked up). Throws Error 22023.
void check_currency(std::string_view currency);

/// Check an amount in the currency's minor unit: above zero. Throws Error 22023.
void check_amount(int64_t amount_minor);

/// Check that details is a JSON object. Throws Error 22023.
void check_details(bool is_object);

} // namespace idem::core
