#include "arguments.h"
#include "boundary.h"
#include "call_site.h"
#include "engine.h"
#include "ledger_binding.h"
#include "ledger_request.h"
#include "observe.h"

#include <cstring>

#include "pg.h"

extern "C" {
#pragma GCC visibility push(default)
PG_FUNCTION_INFO_V1(idem_create_transaction);
PG_FUNCTION_INFO_V1(idem_try_create_transaction);
#pragma GCC visibility pop
}

namespace idem::pg {
namespace {

enum Argument { kTenantArg, kKeyArg, kAmountArg, kCurrencyArg, kDetailsArg, kOperationArg, kOrderRefArg };

// The columns of the result row.
enum ResultColumn {
    kResultId,
    kResultOutcome,
    kResultAmount,
    kResultCurrency,
    kResultDetails,
    kResultOrderRef,
    kResultCreatedAt,
    kResultColumns
};

Call read_call(FunctionCallInfo fcinfo)
{
    const Call call{text_argument(fcinfo, kTenantArg), text_argument(fcinfo, kKeyArg),
                    request_arguments(fcinfo, {kAmountArg, kCurrencyArg, kDetailsArg, kOperationArg, kOrderRefArg})};
    call.check();
    return call;
}

Datum result_row(const CallSite &site, Outcome outcome, const Row &stored)
{
    Datum values[kResultColumns] = {};
    bool nulls[kResultColumns];
    const bool empty = outcome == Outcome::conflict || outcome == Outcome::order_taken;
    std::memset(nulls, empty ? 1 : 0, sizeof nulls);
    values[kResultOutcome] = outcome_datum(site, outcome);
    nulls[kResultOutcome] = false;
    if (!empty) {
        values[kResultId] = stored.values[kId];
        values[kResultAmount] = stored.values[kAmountMinor];
        values[kResultCurrency] = stored.values[kCurrency];
        values[kResultDetails] = stored.values[kDetails];
        values[kResultOrderRef] = stored.values[kOrderRef];
        nulls[kResultOrderRef] = stored.nulls[kOrderRef];
        values[kResultCreatedAt] = stored.values[kCreatedAt];
    }
    return HeapTupleGetDatum(heap_form_tuple(site.result, values, nulls));
}

// Insert or fetch, and tell what that means for the request. With `raise`, ID001 and ID003 are errors.
Outcome decide(const Ledger &ledger, const Call &call, bool raise, Row &stored)
{
    const core::Sha256 hash = call.request.fingerprint();
    const LedgerBinding binding(ledger);
    switch (insert_or_fetch(binding, ledger_row(call, hash, new_id()), stored)) {
    case Claim::inserted:
        return Outcome::created;
    case Claim::scope_found:
        if (same_request(stored_fingerprint(stored), hash)) {
            return Outcome::replayed;
        }
        if (raise) {
            refuse_reuse(stored, call.request);
        }
        return Outcome::conflict;
    case Claim::order_found:
        break;
    }
    if (raise) {
        refuse_order();
    }
    return Outcome::order_taken;
}

Datum create_transaction(FunctionCallInfo fcinfo, const char *name, bool raise)
{
    MemoryContext caller = CurrentMemoryContext;
    // The call site is looked up first: after a wait the extension may be gone.
    const CallSite &site = backend([fcinfo, name]() -> const CallSite & {
        PreventCommandIfReadOnly(name);
        const CallSite &known = call_site(fcinfo, kResultColumns, kResultOutcome);
        SPI_connect(); // what the call allocates from here on goes with SPI_finish
        return known;
    });
    const Call call = read_call(fcinfo);
    const Ledger ledger = backend([&site] { return open_ledger(site.home); });
    Row stored = backend([] { return make_row(kLedgerColumns); });
    const Outcome outcome = observe(
        {call.tenant_id.octets, call.request.operation.octets, call.idempotency_key.octets},
        [&] { return decide(ledger, call, raise, stored); }, [&] { return id_text(stored.values[kId]); });
    return backend([&] {
        MemoryContextSwitchTo(caller);
        const Datum result = result_row(site, outcome, stored);
        SPI_finish();
        return result;
    });
}

Datum create(FunctionCallInfo fcinfo)
{
    return create_transaction(fcinfo, "idem_create_transaction()", true);
}

Datum try_create(FunctionCallInfo fcinfo)
{
    return create_transaction(fcinfo, "idem_try_create_transaction()", false);
}

} // namespace
} // namespace idem::pg

// Create a transaction, or replay the one that the key has; a changed request is an error.
Datum idem_create_transaction(PG_FUNCTION_ARGS)
{
    return idem::pg::entry<idem::pg::create>(fcinfo);
}

// The same; a changed request and a taken order are outcomes.
Datum idem_try_create_transaction(PG_FUNCTION_ARGS)
{
    return idem::pg::entry<idem::pg::try_create>(fcinfo);
}
