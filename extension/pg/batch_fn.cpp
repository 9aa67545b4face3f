#include "batch.h"
#include "batch_arguments.h"
#include "batch_check.h"
#include "boundary.h"
#include "call_site.h"
#include "ledger_binding.h"
#include "observe_batch.h"

#include <algorithm>
#include <cstring>

#include "pg.h"

extern "C" {
#pragma GCC visibility push(default)
PG_FUNCTION_INFO_V1(idem_create_transactions);
#pragma GCC visibility pop
}

namespace idem::pg {
namespace {

// The columns of the result rows.
enum ResultColumn { kResultOrd, kResultOutcome, kResultId, kResultSqlstate, kResultCreatedAt, kResultColumns };

bool succeeded(const BatchEntry &entry)
{
    return entry.outcome == Outcome::created || entry.outcome == Outcome::replayed;
}

// Put an entry into the result. Server code.
void put_row(const ReturnSetInfo &result, const CallSite &site, const BatchEntry &entry, int ord)
{
    Datum values[kResultColumns] = {};
    bool nulls[kResultColumns] = {};
    pg_uuid_t id;
    std::memcpy(id.data, entry.id.data(), entry.id.size());
    values[kResultOrd] = Int32GetDatum(ord);
    values[kResultOutcome] = outcome_datum(site, entry.outcome);
    values[kResultId] = UUIDPGetDatum(&id);
    values[kResultCreatedAt] = TimestampTzGetDatum(entry.created_at);
    nulls[kResultId] = nulls[kResultCreatedAt] = !succeeded(entry);
    nulls[kResultSqlstate] = entry.sqlstate == nullptr;
    if (entry.sqlstate != nullptr) {
        values[kResultSqlstate] = PointerGetDatum(cstring_to_text(entry.sqlstate));
    }
    tuplestore_putvalues(result.setResult, result.setDesc, values, nulls);
}

// Give each valid entry its outcome; in mode all, raise the first that is neither created nor replayed.
void decide(const Ledger &ledger, Batch &batch)
{
    const LedgerBinding binding(ledger);
    observe_batch(batch.entries, [&] { decide_batch(binding, batch.entries); });
    if (batch.mode == BatchMode::all) {
        const auto failed = std::find_if_not(batch.entries.begin(), batch.entries.end(), succeeded);
        if (failed != batch.entries.end()) {
            observe_refusal(*failed, [&] {
                refuse_entry(binding, batch.entries, static_cast<size_t>(failed - batch.entries.begin()));
            });
        }
    }
    observe_outcomes(batch.entries);
}

Datum create_transactions(FunctionCallInfo fcinfo)
{
    // The call site is looked up first: after a wait the extension may be gone.
    const CallSite &site = backend([fcinfo]() -> const CallSite & {
        PreventCommandIfReadOnly("idem_create_transactions()");
        const CallSite &known = call_site(fcinfo, kResultColumns, kResultOutcome);
        InitMaterializedSRF(fcinfo, 0);
        SPI_connect(); // what the call allocates from here on goes with SPI_finish
        return known;
    });
    Batch batch = read_batch(fcinfo);
    check_batch(batch.entries, batch.mode == BatchMode::all);
    const Ledger ledger = backend([&site] { return open_ledger(site.home); });
    decide(ledger, batch);
    return backend([&]() -> Datum {
        const auto *result = reinterpret_cast<const ReturnSetInfo *>(fcinfo->resultinfo);
        int ord = 0;
        for (const BatchEntry &entry : batch.entries) {
            CHECK_FOR_INTERRUPTS();
            put_row(*result, site, entry, ++ord);
        }
        SPI_finish();
        return Datum{};
    });
}

} // namespace
} // namespace idem::pg

// Create or replay a transaction for each of many requests.
Datum idem_create_transactions(PG_FUNCTION_ARGS)
{
    return idem::pg::entry<idem::pg::create_transactions>(fcinfo);
}
