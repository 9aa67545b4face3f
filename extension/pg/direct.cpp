#include "direct.h"

#include "index_fetch.h"

#include "pg.h"
#include "version.h"

namespace idem::pg {
namespace {

// After so many rows that were taken back it is left to a statement to sort it out.
constexpr int kFailures = 6;

enum class Probe { free, found, waited };

// Look an index up for a row with these values, also for one that is not committed; wait for who inserts or deletes it.
Probe probe(const Binding &binding, Relation table, Oid index, ScanKeyData *keys, int count, Row &found)
{
    SnapshotData dirty;
    InitDirtySnapshot(dirty);
    TupleTableSlot *slot = table_slot_create(table, nullptr);
    Relation opened = index_open(index, RowExclusiveLock);
    IndexScanDesc scan = begin_index_scan(table, opened, &dirty, count);
    index_rescan(scan, keys, count, nullptr, 0);
    Probe result = Probe::free;
    TransactionId holder = InvalidTransactionId;
    uint32 token = 0;
    ItemPointerData tid;
    if (index_getnext_slot(scan, ForwardScanDirection, slot)) {
        const bool inserting = TransactionIdIsValid(dirty.xmin);
        holder = inserting ? dirty.xmin : dirty.xmax;
        token = inserting ? dirty.speculativeToken : 0;
        tid = slot->tts_tid;
        result = TransactionIdIsValid(holder) ? Probe::waited : Probe::found;
        if (result == Probe::found) {
            bool copied = false;
            HeapTuple tuple = ExecFetchSlotHeapTuple(slot, false, &copied);
            binding.read_stored(copied ? tuple : heap_copytuple(tuple), RelationGetDescr(table), found);
        }
    }
    index_endscan(scan);
    index_close(opened, NoLock);
    ExecDropSingleTupleTableSlot(slot);
    if (result == Probe::waited && token != 0) {
        SpeculativeInsertionWait(holder, token);
    } else if (result == Probe::waited) {
        XactLockTableWait(holder, table, &tid, XLTW_InsertIndex);
    }
    return result;
}

// Look the scope index up.
Probe probe_scope(const Binding &binding, Relation table, const Row &row, Row &found)
{
    ScanKeyData keys[kMaxScope];
    for (int i = 0; i < binding.scope_columns; ++i) {
        const ScopeColumn &column = binding.scope[i];
        ScanKeyEntryInitialize(&keys[column.key], 0, static_cast<AttrNumber>(column.key + 1), BTEqualStrategyNumber,
                               InvalidOid, column.collation, column.equals, row.values[column.place]);
    }
    return probe(binding, table, binding.table.scope_index, keys, binding.scope_columns, found);
}

// Look the index of orders up.
Probe probe_order(const Ledger &ledger, const Binding &binding, Relation table, const Row &row, Row &found)
{
    constexpr LedgerColumn kColumns[] = {kTenantId, kOperation, kOrderRef};
    ScanKeyData keys[lengthof(kColumns)];
    for (size_t i = 0; i < lengthof(kColumns); ++i) {
        set_text_key(keys, ledger.order_keys[i], row.values[kColumns[i]]);
    }
    return probe(binding, table, ledger.order_index, keys, lengthof(kColumns), found);
}

// The row in the order of the table's columns, in a slot.
TupleTableSlot *fill_slot(const Ledger &ledger, Relation table, const Row &row)
{
    Datum values[kLedgerColumns];
    bool nulls[kLedgerColumns];
    for (int place = 0; place < kLedgerColumns; ++place) {
        const int column = ledger.numbers[place] - 1;
        values[column] = row.values[place];
        nulls[column] = row.nulls[place];
    }
    TupleTableSlot *slot = MakeSingleTupleTableSlot(RelationGetDescr(table), &TTSOpsHeapTuple);
    ExecStoreHeapTuple(heap_form_tuple(RelationGetDescr(table), values, nulls), slot, false);
    return slot;
}

// Make the row's entry in an index; false where a row that may clash is in there.
bool insert_entry(const DirectIndex &index, Relation opened, Relation table, TupleTableSlot *slot)
{
    Datum values[INDEX_MAX_KEYS];
    bool nulls[INDEX_MAX_KEYS];
    FormIndexDatum(index.info, slot, nullptr, values, nulls);
    const bool unique = index_insert(opened, values, nulls, &slot->tts_tid, table, index.check, false, index.info);
    return unique || index.check != UNIQUE_CHECK_PARTIAL;
}

// Insert speculatively; false where an index has met a row that may clash, after which this one is gone again.
bool insert_speculatively(const Ledger &ledger, Relation table, const Row &row)
{
    const WritePath &path = ledger.path;
    TupleTableSlot *slot = fill_slot(ledger, table, row);
    Relation opened[kMaxDirectIndexes];
    // All of them first: others wait for a row that is only half there, so nothing may be waited for then.
    for (int i = 0; i < path.indexes; ++i) {
        opened[i] = index_open(path.index[i].relation, RowExclusiveLock);
    }
    const TransactionId xid = GetCurrentTransactionId();
    const uint32 token = SpeculativeInsertionLockAcquire(xid);
    table_tuple_insert_speculative(table, slot, GetCurrentCommandId(true), 0, nullptr, token);
    bool inserted = true;
    for (int i = 0; inserted && i < path.indexes; ++i) {
        if (!path.index[i].skips_null_orders || !row.nulls[kOrderRef]) {
            inserted = insert_entry(path.index[i], opened[i], table, slot);
        }
    }
    table_tuple_complete_speculative(table, slot, token, inserted);
    SpeculativeInsertionLockRelease(xid);
    for (int i = 0; i < path.indexes; ++i) {
        index_close(opened[i], NoLock);
    }
    ExecDropSingleTupleTableSlot(slot);
    return inserted;
}

// Look for a row with this scope or this order_ref. `by_order` tells which of the two was found.
Probe look(const Ledger &ledger, const Binding &binding, Relation table, const Row &row, Row &found, bool &by_order)
{
    by_order = false;
    Probe seen = probe_scope(binding, table, row, found);
    if (seen != Probe::free || row.nulls[kOrderRef]) {
        return seen;
    }
    seen = probe_order(ledger, binding, table, row, found);
    if (seen != Probe::found) {
        return seen;
    }
    // A twin that appeared since the first look comes before the order.
    seen = probe_scope(binding, table, row, found);
    by_order = seen == Probe::free;
    return by_order ? Probe::found : seen;
}

DirectResult claim(const Ledger &ledger, const Binding &binding, Relation table, const Row &row, Row &found)
{
    for (int failures = 0; failures < kFailures;) {
        CHECK_FOR_INTERRUPTS();
        bool by_order = false;
        switch (look(ledger, binding, table, row, found, by_order)) {
        case Probe::found:
            return {true, by_order ? Claim::order_found : Claim::scope_found};
        case Probe::waited:
            continue;
        case Probe::free:
            break;
        }
        if (insert_speculatively(ledger, table, row)) {
            CommandCounterIncrement(); // so that what follows in the transaction sees the row
            found = row;
            return {true, Claim::inserted};
        }
        ++failures;
    }
    return {};
}

} // namespace

DirectResult claim_directly(const Ledger &ledger, const Binding &binding, const Row &row, Row &found)
{
    Relation table = table_open(ledger.relation, NoLock);
    const DirectResult result = claim(ledger, binding, table, row, found);
    table_close(table, NoLock);
    return result;
}

} // namespace idem::pg
