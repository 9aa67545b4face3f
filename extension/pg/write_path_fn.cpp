#include "boundary.h"
#include "ledger.h"
#include "registry.h"
#include "table.h"

#include "pg.h"

extern "C" {
#pragma GCC visibility push(default)
PG_FUNCTION_INFO_V1(idem_write_path);
#pragma GCC visibility pop
}

namespace idem::pg {
namespace {

// What keeps a call on an attached table from writing without a statement. Server code.
const char *attached_declined(const Home &home, Oid target)
{
    Registration registration;
    if (!find_registration(home, target, registration)) {
        const char *name = get_rel_name(target);
        ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                        errmsg("table \"%s\" is neither the ledger nor attached", name == nullptr ? "?" : name)));
    }
    return "Only the ledger is written to without a statement.";
}

Datum write_path(FunctionCallInfo fcinfo)
{
    return backend([fcinfo]() -> Datum {
        PreventCommandIfReadOnly("idem_write_path()");
        TupleDesc result = nullptr;
        if (get_call_result_type(fcinfo, nullptr, &result) != TYPEFUNC_COMPOSITE || result->natts != 2) {
            elog(ERROR, "unexpected result type of function %u", fcinfo->flinfo->fn_oid);
        }
        const Home home = home_of(fcinfo->flinfo->fn_oid);
        const bool ledger = PG_ARGISNULL(0) || PG_GETARG_OID(0) == get_relname_relid(kLedgerName, home.schema);
        const char *reason =
            ledger ? direct_write_declined(open_ledger(home)) : attached_declined(home, PG_GETARG_OID(0));
        Datum values[] = {CStringGetTextDatum(reason == nullptr ? "direct" : "statement"), Datum{}};
        bool nulls[] = {false, reason == nullptr};
        if (reason != nullptr) {
            values[1] = CStringGetTextDatum(reason);
        }
        return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(result), values, nulls));
    });
}

} // namespace
} // namespace idem::pg

// How a call writes, and what keeps it from writing without a statement.
Datum idem_write_path(PG_FUNCTION_ARGS)
{
    return idem::pg::entry<idem::pg::write_path>(fcinfo);
}
