#pragma once

#include "pg.h"

namespace idem::pg {

/// The ledger's name, in the schema of the extension.
inline constexpr char kLedgerName[] = "idem_transactions";

/// The table that holds the transactions, as far as a call has to know it.
struct Ledger {
    Oid relation = InvalidOid;
    bool partitioned = false;
    Oid scope_index = InvalidOid;    // unique on (tenant_id, operation, idempotency_key)
    bool further_unique = false;     // may have unique keys beside its own: twins may clash on them too
    bool may_change_rows = false;    // may have BEFORE INSERT row triggers, which change or suppress a row
    bool insert_has_effects = false; // an insert that yields to a conflict may do something or fail before it yields
    bool row_security = false;       // has policies, which may hide a row from who inserted it
    bool verified = false;           // cleared when the server reports a change
};

/// The schema and the owner of the extension.
struct Home {
    Oid schema;
    Oid owner;
};

/// Where `function`, one of the extension's own, lives. Server code. Raises 55000 where it was dropped meanwhile.
Home home_of(Oid function);

/// Find the ledger, lock it for writing (RowExclusiveLock, until the transaction ends) and make sure that it is one:
/// owner, columns, and the unique indexes that the promise rests on. The finding is kept until something changes; the
/// caller gets a copy, since a trigger may call idem again. Server code. Raises 55000, naming what is missing.
Ledger open_ledger(const Home &home);

/// Whether the ledger, or a partition of it, has BEFORE INSERT row triggers. Server code.
bool has_row_triggers(const Ledger &ledger);

/// Have the server report what may make a finding wrong to this file; once per process.
void watch_ledger();

} // namespace idem::pg
