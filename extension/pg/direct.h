#pragma once

#include "binding.h"
#include "ledger.h"

#include "pg.h"

namespace idem::pg {

/// Insert `row` into the ledger, or find the row that stands in its way, by the server's own routines for heap and
/// index, without a statement. Only where direct_write_declined() finds nothing in the way. It probes the scope index
/// for rows that are committed or being inserted, waits for who holds one, and else inserts speculatively: a twin that
/// comes in between is seen by the index, and the row is taken back. Server code.
DirectResult claim_directly(const Ledger &ledger, const Binding &binding, const Row &row, Row &found);

} // namespace idem::pg
