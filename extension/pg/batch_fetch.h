#pragma once

#include "../core/sha256.h"
#include "../core/uuid.h"
#include "batch_rows.h"
#include "ledger_binding.h"

#include <cstdint>
#include <vector>

#include "pg.h"

namespace idem::pg {

/// A stored row that one of a batch's entries met.
struct FoundRow {
    uint32_t place;
    core::Uuid id;
    int version;
    core::Sha256 hash;
    size_t hash_octets; // how many it has really
    TimestampTz created_at;
    bool same_scope; // as the entry
    bool same_order; // which is not NULL
};

/// The octets of a uuid. Server code.
core::Uuid uuid_of(Datum value);

/// Look for the rows that have the scopes, or the order_refs, of the entries at these places, as a statement that
/// starts now would see them. Needs an SPI connection.
std::vector<FoundRow> fetch_scopes(const LedgerBinding &binding, const std::vector<BatchEntry> &entries,
                                   const std::vector<uint32_t> &places);
std::vector<FoundRow> fetch_orders(const LedgerBinding &binding, const std::vector<BatchEntry> &entries,
                                   const std::vector<uint32_t> &places);

} // namespace idem::pg
