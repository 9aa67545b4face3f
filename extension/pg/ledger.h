#pragma once

#include "table.h"
#include "write_path.h"

#include "pg.h"

namespace idem::pg {

/// The ledger's name, in the schema of the extension.
inline constexpr char kLedgerName[] = "idem_transactions";

/// The ledger's columns in the order of the table as it is created, which is that of the insert statements' parameters
/// and of the rows that come back: a select of all columns in their order needs no projection.
enum LedgerColumn {
    kTenantId,
    kId,
    kOperation,
    kIdempotencyKey,
    kRequestHash,
    kHashVersion,
    kAmountMinor,
    kCurrency,
    kOrderRef,
    kDetails,
    kCreatedAt,
    kLedgerColumns
};

/// The table of the ledger, and where it has the columns.
struct Ledger : Table {
    AttrNumber numbers[kLedgerColumns];
    int scope_keys[3]; // where the scope index has tenant_id, operation and idempotency_key
    Oid order_index;
    int order_keys[3]; // where that has tenant_id, operation and order_ref
    WritePath path;
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

/// Have the server report what may make a finding wrong to this file; once per process.
void watch_ledger();

} // namespace idem::pg
