#pragma once

#include "exclusion.h"
#include "fingerprint.h"

#include <string>
#include <string_view>

namespace idem::core {

// The fingerprint of a row in a table of the user's own, as its column stores it: one octet with the version, 32 octets
// of SHA-256, then the text of the exclusions that were in force. The row itself says how it is to be compared, so that
// neither other exclusions nor an upgrade turn an honest retry into a conflict.
// docs/fingerprint.md, "Rows of attached tables".

/// The text whose SHA-256 is the fingerprint, version 1. Throws as append_canonical() and check_printed_zeros() do.
template <JsonValue V>
std::string canonical_row(std::string_view operation, const V &row)
{
    std::string out;
    out.reserve(256);
    out += "{\"operation\":";
    append_string(out, operation);
    out += ",\"row\":";
    size_t zeros = 0;
    append_canonical(out, row, zeros);
    check_printed_zeros(zeros);
    out += '}';
    return out;
}

/// The fingerprint of a row that is sent now. Throws as canonical_row() and sha256() do, for what is excluded, too.
template <JsonValue V>
std::string row_fingerprint(std::string_view operation, const V &row, const Exclusions &exclusions)
{
    std::string text = canonical_row(operation, row);
    if (!exclusions.empty()) {
        text = canonical_row(operation, Pruned<V>(row, exclusions.root()));
    }
    const Sha256 hash = sha256(text);
    std::string stored(1, static_cast<char>(kHashVersion));
    stored.append(hash.begin(), hash.end());
    return stored + exclusions.text();
}

/// The exclusions that a stored fingerprint was made with. Throws Error 55000 for what is no fingerprint of this
/// version.
Exclusions stored_exclusions(std::string_view stored);

/// Whether a row sent now is the one that `stored` was made of; `sent` is the fingerprint that it has by now.
template <JsonValue V>
bool same_row(std::string_view stored, std::string_view sent, std::string_view operation, const V &row)
{
    if (stored == sent) {
        return true;
    }
    return row_fingerprint(operation, row, stored_exclusions(stored)) == stored;
}

} // namespace idem::core
