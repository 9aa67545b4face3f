#pragma once

#include "canonical.h"
#include "sha256.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace idem::core {

/// The version that new rows are written with (column hash_version). Its algorithm never changes.
inline constexpr int16_t kHashVersion = 1;

/// What enters a fingerprint beside the details; texts are UTF-8.
struct RequestFields {
    int64_t amount_minor; // in the currency's minor unit
    std::string_view currency;
    std::string_view operation;
    std::optional<std::string_view> order_ref;
};

/// The text whose SHA-256 is the fingerprint, version 1: one canonical object of fields and details. Throws as
/// append_canonical() and check_printed_zeros() do.
template <JsonValue V>
std::string canonical_request(const RequestFields &fields, const V &details)
{
    std::string out;
    out.reserve(256);
    // The names stand in canonical order already.
    out += "{\"amount_minor\":";
    append_number(out, fields.amount_minor);
    out += ",\"currency\":";
    append_string(out, fields.currency);
    out += ",\"details\":";
    size_t zeros = 0;
    append_canonical(out, details, zeros);
    check_printed_zeros(zeros);
    out += ",\"operation\":";
    append_string(out, fields.operation);
    out += ",\"order_ref\":";
    if (fields.order_ref) {
        append_string(out, *fields.order_ref);
    } else {
        out += "null";
    }
    out += '}';
    return out;
}

/// The fingerprint, version 1 (docs/fingerprint.md). Throws as canonical_request() and sha256() do.
template <JsonValue V>
Sha256 fingerprint(const RequestFields &fields, const V &details)
{
    return sha256(canonical_request(fields, details));
}

/// Refuse a stored fingerprint of a version that this library does not know: throw Error 55000.
[[noreturn]] void refuse_hash_version(int version);

} // namespace idem::core
