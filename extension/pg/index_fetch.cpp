#include "index_fetch.h"

#include "version.h"

#include "pg.h"

namespace idem::pg {

bool can_fetch_by_index(const Binding &binding)
{
    const Table &table = binding.table;
    return table.plain_reads && !table.partitioned && !table.row_security && ExecutorCheckPerms_hook == nullptr &&
           pg_class_aclcheck(table.relation, GetUserId(), ACL_SELECT) == ACLCHECK_OK &&
           may_use_schema(GetUserId(), table.schema);
}

Snapshot current_snapshot()
{
    return IsolationUsesXactSnapshot() ? GetTransactionSnapshot() : GetLatestSnapshot();
}

bool fetch_by_index(const Binding &binding, const Row &row, Row &found)
{
    ScanKeyData keys[kMaxScope];
    for (int i = 0; i < binding.scope_columns; ++i) {
        const ScopeColumn &column = binding.scope[i];
        ScanKeyEntryInitialize(&keys[column.key], 0, column.number, BTEqualStrategyNumber, InvalidOid, column.collation,
                               column.equals, row.values[column.place]);
    }
    Relation table = relation_open(binding.table.relation, NoLock);
    Snapshot snapshot = RegisterSnapshot(current_snapshot());
    SysScanDesc scan =
        systable_beginscan(table, binding.table.scope_index, true, snapshot, binding.scope_columns, keys);
    HeapTuple tuple = systable_getnext(scan);
    const bool is_there = HeapTupleIsValid(tuple);
    if (is_there) {
        binding.read_stored(heap_copytuple(tuple), RelationGetDescr(table), found);
    }
    systable_endscan(scan);
    UnregisterSnapshot(snapshot);
    relation_close(table, NoLock);
    return is_there;
}

} // namespace idem::pg
