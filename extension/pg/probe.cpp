#include "probe.h"

#include "pg.h"

namespace idem::pg {

bool probably_stored(const Binding &binding, const Row &row)
{
    ScanKeyData keys[lengthof(binding.scope)];
    for (int i = 0; i < binding.scope_columns; ++i) {
        const ScopeColumn &column = binding.scope[i];
        ScanKeyEntryInitialize(&keys[column.key], 0, column.number, BTEqualStrategyNumber, InvalidOid, column.collation,
                               column.equals, row.values[column.place]);
    }
    Relation table = relation_open(binding.table.relation, NoLock);
    Snapshot snapshot = RegisterSnapshot(GetLatestSnapshot());
    SysScanDesc scan =
        systable_beginscan(table, binding.table.scope_index, true, snapshot, binding.scope_columns, keys);
    const bool found = HeapTupleIsValid(systable_getnext(scan));
    systable_endscan(scan);
    UnregisterSnapshot(snapshot);
    relation_close(table, NoLock);
    return found;
}

} // namespace idem::pg
