#pragma once

#include "binding.h"

#include "pg.h"

namespace idem::pg {

/// Whether a row can be read straight from the scope index, which costs less than half of a statement and does not
/// depend on a plan: the table is not partitioned and has no row security, the role may read all of it, and no library
/// wants to see who reads (ExecutorCheckPerms_hook). Server code.
bool can_fetch_by_index(const Binding &binding);

/// Ask for the index's column at `key`, counted from 0, to equal a text of the ledger. Server code.
inline void set_text_key(ScanKeyData *keys, int key, Datum value)
{
    ScanKeyEntryInitialize(&keys[key], 0, static_cast<AttrNumber>(key + 1), BTEqualStrategyNumber, InvalidOid,
                           C_COLLATION_OID, F_TEXTEQ, value);
}

/// The snapshot that a statement which starts now would see the rows by. Server code.
Snapshot current_snapshot();

/// Read the row with the scope of `row` into `found`, as a statement that starts now would see it. Tells whether it is
/// there. Server code.
bool fetch_by_index(const Binding &binding, const Row &row, Row &found);

} // namespace idem::pg
