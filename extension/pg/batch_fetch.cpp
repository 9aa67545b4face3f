#include "batch_fetch.h"

#include "boundary.h"
#include "encoding.h"
#include "index_fetch.h"
#include "statements.h"

#include <algorithm>
#include <cstring>

#include "pg.h"
#include "version.h"

namespace idem::pg {
namespace {

// The index to look in, and where it has the columns tenant_id, operation and the third one.
struct LookedIn {
    Oid index;
    const int *keys;
    bool by_order;
};

constexpr int kKeys = 3;

FoundRow found_row(uint32_t place, Datum id, Datum hash, Datum version, Datum created_at)
{
    const bytea *octets = DatumGetByteaPP(hash);
    FoundRow found;
    found.place = place;
    found.id = uuid_of(id);
    found.version = DatumGetInt16(version);
    found.hash_octets = VARSIZE_ANY_EXHDR(octets);
    std::memcpy(found.hash.data(), VARDATA_ANY(octets), std::min(found.hash_octets, found.hash.size()));
    found.created_at = DatumGetTimestampTz(created_at);
    found.same_scope = found.same_order = false;
    return found;
}

// Read a row that a statement found. Server code.
FoundRow read_result(HeapTuple tuple, TupleDesc descriptor)
{
    const auto value = [&](BatchColumn column) {
        bool null;
        return SPI_getbinval(tuple, descriptor, column + 1, &null);
    };
    FoundRow found = found_row(static_cast<uint32_t>(DatumGetInt32(value(kFoundPlace))), value(kFoundId),
                               value(kFoundHash), value(kFoundVersion), value(kFoundCreatedAt));
    found.same_scope = DatumGetBool(value(kFoundSameScope));
    found.same_order = DatumGetBool(value(kFoundSameOrder));
    return found;
}

// Read a row that an index scan found for an entry. Server code.
FoundRow read_slot(TupleTableSlot *slot, const Ledger &ledger, uint32_t place, const Call &call)
{
    bool null;
    const auto value = [&](LedgerColumn column) { return slot_getattr(slot, ledger.numbers[column], &null); };
    FoundRow found = found_row(place, value(kId), value(kRequestHash), value(kHashVersion), value(kCreatedAt));
    const bool same_tenant = text_octets(value(kTenantId)) == call.tenant_id.octets &&
                             text_octets(value(kOperation)) == call.request.operation.octets;
    found.same_scope = same_tenant && text_octets(value(kIdempotencyKey)) == call.idempotency_key.octets;
    const Datum order = value(kOrderRef);
    found.same_order =
        same_tenant && !null && !call.request.order_ref.null && text_octets(order) == call.request.order_ref.octets;
    return found;
}

// Run a statement with plans that find rows by an index, whatever statistics and settings say: a plan that was made
// while the table was small would scan all of it and keep doing so while the table grows. Server code.
void execute_by_index(const LedgerBinding &binding, BatchStatement statement)
{
    const int level = NewGUCNestLevel();
    for (const char *name : {"enable_seqscan", "enable_hashjoin", "enable_mergejoin"}) {
        (void)set_config_option(name, "off", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
    }
    for (const char *name : {"enable_nestloop", "enable_indexscan"}) {
        (void)set_config_option(name, "on", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
    }
    execute(binding, binding.plan(statement), nullptr, nullptr, 0);
    AtEOXact_GUC(true, level);
}

// Look by a statement. `found` has room for a row of each place.
void fetch_by_statement(const LedgerBinding &binding, BatchStatement statement, const std::vector<BatchEntry> &entries,
                        const std::vector<uint32_t> &places, std::vector<FoundRow> &found)
{
    const BatchRows rows(entries, places, BatchRows::Shape::keys);
    backend([&] {
        execute_by_index(binding, statement);
        for (uint64 i = 0; i < SPI_processed; ++i) {
            found.push_back(read_result(SPI_tuptable->vals[i], SPI_tuptable->tupdesc));
        }
        SPI_freetuptable(SPI_tuptable);
    });
}

// Look into the index itself, place by place. Server code.
void fetch_by_keys(const Ledger &ledger, const LookedIn &where, const std::vector<BatchEntry> &entries,
                   const std::vector<uint32_t> &places, std::vector<FoundRow> &found)
{
    Relation table = table_open(ledger.relation, NoLock);
    Relation index = index_open(where.index, AccessShareLock);
    Snapshot snapshot = RegisterSnapshot(current_snapshot());
    TupleTableSlot *slot = table_slot_create(table, nullptr);
    IndexScanDesc scan = begin_index_scan(table, index, snapshot, kKeys);
    MemoryContext scratch = AllocSetContextCreate(CurrentMemoryContext, "idem batch fetch", ALLOCSET_SMALL_SIZES);
    for (const uint32_t place : places) {
        CHECK_FOR_INTERRUPTS();
        const Call &call = entries[place].call;
        const Datum values[kKeys] = {call.tenant_id.value, call.request.operation.value,
                                     where.by_order ? call.request.order_ref.value : call.idempotency_key.value};
        ScanKeyData keys[kKeys];
        for (int i = 0; i < kKeys; ++i) {
            set_text_key(keys, where.keys[i], values[i]);
        }
        index_rescan(scan, keys, kKeys, nullptr, 0);
        if (index_getnext_slot(scan, ForwardScanDirection, slot)) {
            MemoryContext caller = MemoryContextSwitchTo(scratch);
            found.push_back(read_slot(slot, ledger, place, call));
            MemoryContextSwitchTo(caller);
            MemoryContextReset(scratch);
        }
    }
    MemoryContextDelete(scratch);
    index_endscan(scan);
    ExecDropSingleTupleTableSlot(slot);
    UnregisterSnapshot(snapshot);
    index_close(index, NoLock);
    table_close(table, NoLock);
}

std::vector<FoundRow> fetch(const LedgerBinding &binding, BatchStatement statement,
                            const std::vector<BatchEntry> &entries, const std::vector<uint32_t> &places)
{
    std::vector<FoundRow> found;
    if (places.empty()) {
        return found;
    }
    found.reserve(places.size());
    if (!backend([&] { return can_fetch_by_index(binding); })) {
        fetch_by_statement(binding, statement, entries, places, found);
        return found;
    }
    const Ledger &ledger = binding.ledger();
    const bool by_order = statement == BatchStatement::fetch_order;
    const LookedIn where{by_order ? ledger.order_index : ledger.scope_index,
                         by_order ? ledger.order_keys : ledger.scope_keys, by_order};
    backend([&] { fetch_by_keys(ledger, where, entries, places, found); });
    return found;
}

} // namespace

core::Uuid uuid_of(Datum value)
{
    core::Uuid id;
    std::memcpy(id.data(), DatumGetUUIDP(value)->data, id.size());
    return id;
}

std::vector<FoundRow> fetch_scopes(const LedgerBinding &binding, const std::vector<BatchEntry> &entries,
                                   const std::vector<uint32_t> &places)
{
    return fetch(binding, BatchStatement::fetch_scope, entries, places);
}

std::vector<FoundRow> fetch_orders(const LedgerBinding &binding, const std::vector<BatchEntry> &entries,
                                   const std::vector<uint32_t> &places)
{
    return fetch(binding, BatchStatement::fetch_order, entries, places);
}

} // namespace idem::pg
