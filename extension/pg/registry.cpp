#include "registry.h"

#include "boundary.h"

#include "pg.h"

extern "C" {
#pragma GCC visibility push(default)
PG_FUNCTION_INFO_V1(idem_forget_table);
#pragma GCC visibility pop
}

namespace idem::pg {
namespace {

// The columns of idem_tables (sql/parts/tables.sql).
enum RegistryColumn {
    kTarget = 1,
    kFixedOperation = 5,
    kExclude = 9,
    kTenantNumber,
    kOperationNumber,
    kKeyNumber,
    kHashNumber,
    kIdNumber
};

// A value of the registry's row that is not NULL, copied out of it.
Datum copy_value(HeapTuple tuple, TupleDesc descriptor, int column)
{
    bool null = false;
    const Datum value = heap_getattr(tuple, column, descriptor, &null);
    const FormData_pg_attribute *attribute = TupleDescAttr(descriptor, column - 1);
    return null ? Datum{} : datumCopy(value, attribute->attbyval, attribute->attlen);
}

} // namespace

bool find_registration(const Home &home, Oid target, Registration &found)
{
    const Oid relation = get_relname_relid(kRegistryName, home.schema);
    if (!OidIsValid(relation)) {
        ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE), errmsg("extension idem was dropped")));
    }
    Relation registry = table_open(relation, AccessShareLock);
    ScanKeyData key;
    ScanKeyInit(&key, kTarget, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(target));
    SysScanDesc scan = systable_beginscan(registry, InvalidOid, false, nullptr, 1, &key);
    HeapTuple tuple = systable_getnext(scan);
    const bool is_there = HeapTupleIsValid(tuple);
    if (is_there) {
        TupleDesc descriptor = RelationGetDescr(registry);
        const auto number = [&](int column) { return DatumGetInt16(copy_value(tuple, descriptor, column)); };
        found = {number(kTenantNumber),
                 number(kOperationNumber),
                 number(kKeyNumber),
                 number(kHashNumber),
                 number(kIdNumber),
                 nullptr,
                 DatumGetArrayTypePCopy(copy_value(tuple, descriptor, kExclude))};
        const Datum operation = copy_value(tuple, descriptor, kFixedOperation);
        found.fixed_operation = operation == Datum{} ? nullptr : DatumGetTextPCopy(operation);
    }
    systable_endscan(scan);
    table_close(registry, AccessShareLock);
    return is_there;
}

} // namespace idem::pg

// Trigger of the registry: every session forgets what it knows of the table of this row.
Datum idem_forget_table(PG_FUNCTION_ARGS)
{
    return idem::pg::guarded([fcinfo] {
        return idem::pg::backend([fcinfo]() -> Datum {
            if (!CALLED_AS_TRIGGER(fcinfo)) {
                ereport(ERROR, (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
                                errmsg("function was not called by a trigger")));
            }
            const auto *data = reinterpret_cast<const TriggerData *>(fcinfo->context);
            const idem::pg::Home home = idem::pg::home_of(fcinfo->flinfo->fn_oid);
            // Anybody may make a trigger of it, on another table, and for statements, which have no row.
            if (!TRIGGER_FIRED_FOR_ROW(data->tg_event) ||
                RelationGetRelid(data->tg_relation) != get_relname_relid(idem::pg::kRegistryName, home.schema)) {
                ereport(ERROR, (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
                                errmsg("function is for rows of the registry of attached tables only")));
            }
            bool null = false;
            const Oid target = DatumGetObjectId(
                heap_getattr(data->tg_trigtuple, idem::pg::kTarget, RelationGetDescr(data->tg_relation), &null));
            if (SearchSysCacheExists1(RELOID, ObjectIdGetDatum(target))) { // else its end is news enough
                CacheInvalidateRelcacheByRelid(target);
            }
            return PointerGetDatum(nullptr);
        });
    });
}
