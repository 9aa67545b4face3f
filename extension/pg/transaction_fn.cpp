#include "../core/difference.h"
#include "../core/errcodes.h"
#include "../core/fingerprint.h"
#include "../core/uuid.h"
#include "arguments.h"
#include "boundary.h"
#include "call_site.h"
#include "encoding.h"
#include "engine.h"
#include "jsonb_value.h"
#include "ledger_binding.h"
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

using core::Error;
namespace sqlstate = core::sqlstate;

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

constexpr size_t kPathsInMessage = 3;

// The arguments of a call, read and checked in the order that the contract fixes.
struct Call {
    TextArgument tenant_id;
    TextArgument idempotency_key;
    Request request;
};

Call read_call(FunctionCallInfo fcinfo)
{
    const Call call{text_argument(fcinfo, kTenantArg), text_argument(fcinfo, kKeyArg),
                    request_arguments(fcinfo, {kAmountArg, kCurrencyArg, kDetailsArg, kOperationArg, kOrderRefArg})};
    call.tenant_id.check_not_null("tenant_id");
    call.idempotency_key.check_not_null("idempotency_key");
    call.request.check_not_null();
    call.tenant_id.check(core::kTenantRule);
    call.idempotency_key.check(core::kKeyRule);
    call.request.check();
    return call;
}

int64 unix_microseconds()
{
    constexpr int64 kEpochDistance = (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY;
    return GetCurrentTimestamp() + kEpochDistance;
}

Row new_row(const Call &call, const core::Sha256 &hash)
{
    const core::Uuid id = core::make_uuid7(unix_microseconds());
    return backend([&] {
        auto *uuid = static_cast<pg_uuid_t *>(palloc(sizeof(pg_uuid_t)));
        std::memcpy(uuid->data, id.data(), id.size());
        Row row = make_row(kLedgerColumns);
        std::memset(row.nulls, 0, kLedgerColumns);
        row.values[kTenantId] = call.tenant_id.value;
        row.values[kOperation] = call.request.operation.value;
        row.values[kIdempotencyKey] = call.idempotency_key.value;
        row.values[kOrderRef] = call.request.order_ref.value;
        row.nulls[kOrderRef] = call.request.order_ref.null;
        row.values[kId] = UUIDPGetDatum(uuid);
        row.values[kRequestHash] = bytea_datum(hash);
        row.values[kHashVersion] = Int16GetDatum(core::kHashVersion);
        row.values[kAmountMinor] = Int64GetDatum(call.request.amount_minor);
        row.values[kCurrency] = call.request.currency.value;
        row.values[kDetails] = JsonbPGetDatum(call.request.details);
        row.values[kCreatedAt] = TimestampTzGetDatum(GetCurrentTransactionStartTimestamp());
        return row;
    });
}

// Whether the stored row is of the same request; the version it was written with decides how that is told.
bool same_request(const Row &stored, const core::Sha256 &hash)
{
    const int version = DatumGetInt16(stored.values[kHashVersion]);
    if (version != core::kHashVersion) {
        core::refuse_hash_version(version);
    }
    const bytea *stored_hash = backend([&] { return DatumGetByteaPP(stored.values[kRequestHash]); });
    return VARSIZE_ANY_EXHDR(stored_hash) == hash.size() &&
           std::memcmp(VARDATA_ANY(stored_hash), hash.data(), hash.size()) == 0;
}

bool same_text(Datum stored, bool stored_null, const TextArgument &sent)
{
    if (stored_null || sent.null) {
        return stored_null == sent.null;
    }
    return backend([stored] { return text_octets(stored); }) == sent.octets;
}

// Where the details differ, as " ($.a, $.b[0], ...)"; empty where they do not.
std::string details_difference(Datum stored, Jsonb *sent)
{
    Jsonb *document = backend([stored] { return DatumGetJsonbP(stored); });
    core::Differences differences(kPathsInMessage);
    differences.compare(JsonbValue(document), JsonbValue(sent));
    std::string paths;
    for (const std::string &path : differences.paths()) {
        paths += paths.empty() ? " (" : ", ";
        paths += path;
    }
    if (!paths.empty()) {
        paths += differences.more() ? ", ...)" : ")";
    }
    return paths;
}

// Raise ID001 and say which arguments differ from the stored ones, never their values.
[[noreturn]] void refuse_reuse(const Row &stored, const Request &sent)
{
    std::string names;
    const auto name = [&names](const std::string &argument) { names += (names.empty() ? "" : ", ") + argument; };
    if (DatumGetInt64(stored.values[kAmountMinor]) != sent.amount_minor) {
        name("amount_minor");
    }
    if (!same_text(stored.values[kCurrency], stored.nulls[kCurrency], sent.currency)) {
        name("currency");
    }
    if (!same_text(stored.values[kOrderRef], stored.nulls[kOrderRef], sent.order_ref)) {
        name("order_ref");
    }
    const std::string details = details_difference(stored.values[kDetails], sent.details);
    if (!details.empty()) {
        name("details" + details);
    }
    throw Error(sqlstate::kKeyReused, "idempotency key was already used with other parameters",
                names.empty() ? "The stored fingerprint is not that of the stored values."
                              : "The stored request differs in " + names + ".",
                "Use a new key for a new request, and the same parameters for a retry.");
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
    switch (insert_or_fetch(binding, new_row(call, hash), stored)) {
    case Claim::inserted:
        return Outcome::created;
    case Claim::scope_found:
        if (same_request(stored, hash)) {
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
        throw Error(sqlstate::kOrderTaken, "order_ref already has a transaction",
                    "It was created with another idempotency key.",
                    "One order makes one transaction, whatever its key.");
    }
    return Outcome::order_taken;
}

// The id of a row, for the log.
std::optional<std::string> id_text(const Row &stored)
{
    const Datum id = stored.values[kId];
    return backend([id] { return DatumGetCString(DirectFunctionCall1(uuid_out, id)); });
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
        [&] { return decide(ledger, call, raise, stored); }, [&] { return id_text(stored); });
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
