#pragma once

#include "pg.h"

namespace idem::pg {

/// The table that holds the transactions, as far as a call has to know it.
struct Ledger {
    Oid relation = InvalidOid;
    Oid scope_index = InvalidOid; // unique on (tenant_id, operation, idempotency_key)
    bool further_unique = false;  // has unique keys beside its own: twins may clash on them too
    bool row_triggers = false;    // has BEFORE INSERT row triggers, which may change or suppress a row
    bool row_security = false;    // has policies, which may hide a row from who inserted it
    bool verified = false;        // cleared when the server reports a change of the table
};

/// Find the ledger in the schema of `function`, one of the extension's own, lock it for writing (RowExclusiveLock,
/// until the transaction ends) and make sure that it is one: owner, columns, and the unique indexes that the promise
/// rests on. The finding is kept until the table changes. Server code. Raises 55000, naming what is missing.
const Ledger &open_ledger(Oid function);

/// Have the server report changes of tables and schemas to this file; once per process.
void watch_ledger();

} // namespace idem::pg
