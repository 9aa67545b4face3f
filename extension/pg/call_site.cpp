#include "call_site.h"

#include "pg.h"

namespace idem::pg {
namespace {

constexpr const char *kOutcomeLabels[] = {"created", "replayed", "conflict", "order_taken", "invalid"};
static_assert(lengthof(kOutcomeLabels) == static_cast<int>(Outcome::count));

} // namespace

const CallSite &call_site(FunctionCallInfo fcinfo, int columns, int outcome_column)
{
    if (fcinfo->flinfo->fn_extra == nullptr) {
        MemoryContext caller = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
        auto *site = static_cast<CallSite *>(palloc(sizeof(CallSite)));
        site->home = home_of(fcinfo->flinfo->fn_oid); // first: it tells of a function that was dropped
        TupleDesc result = nullptr;
        if (get_call_result_type(fcinfo, nullptr, &result) != TYPEFUNC_COMPOSITE || result->natts != columns) {
            elog(ERROR, "unexpected result type of function %u", fcinfo->flinfo->fn_oid);
        }
        site->result = BlessTupleDesc(result);
        const Oid type = TupleDescAttr(result, outcome_column)->atttypid;
        for (size_t i = 0; i < lengthof(kOutcomeLabels); ++i) {
            site->outcomes[i] = GetSysCacheOid2(ENUMTYPOIDNAME, Anum_pg_enum_oid, ObjectIdGetDatum(type),
                                                CStringGetDatum(kOutcomeLabels[i]));
        }
        fcinfo->flinfo->fn_extra = site;
        MemoryContextSwitchTo(caller);
    }
    return *static_cast<const CallSite *>(fcinfo->flinfo->fn_extra);
}

} // namespace idem::pg
