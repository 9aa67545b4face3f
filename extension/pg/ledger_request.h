#pragma once

#include "../core/sha256.h"
#include "../core/uuid.h"
#include "arguments.h"
#include "binding.h"

#include <optional>
#include <string>
#include <string_view>

#include "pg.h"

namespace idem::pg {

/// A new id for a transaction. Raises 58000 where OpenSSL has no random bytes.
core::Uuid new_id();

/// The row of the ledger that a checked call asks for, in the current memory context. fill_ledger_row(): server code.
void fill_ledger_row(Row &row, const Call &call, const core::Sha256 &hash, const core::Uuid &id);
Row ledger_row(const Call &call, const core::Sha256 &hash, const core::Uuid &id);

/// The fingerprint of a stored row.
struct StoredFingerprint {
    int version;
    std::string_view octets;
};
StoredFingerprint stored_fingerprint(const Row &stored);

/// Whether the stored row is of the request with this fingerprint; the version it was written with decides how that is
/// told. Raises 55000 for an unknown version.
bool same_request(const StoredFingerprint &stored, const core::Sha256 &hash);

/// Raise ID001 and say which arguments differ from the stored ones, never their values.
[[noreturn]] void refuse_reuse(const Row &stored, const Request &sent);

/// Raise ID003.
[[noreturn]] void refuse_order();

/// The id of a transaction as text, for the log.
std::optional<std::string> id_text(Datum id);
std::optional<std::string> id_text(const core::Uuid &id);

} // namespace idem::pg
