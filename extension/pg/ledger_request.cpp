#include "ledger_request.h"

#include "../core/difference.h"
#include "../core/errcodes.h"
#include "../core/fingerprint.h"
#include "boundary.h"
#include "encoding.h"
#include "jsonb_value.h"
#include "ledger.h"
#include "refusals.h"

#include <cstring>

#include "pg.h"

namespace idem::pg {
namespace {

using core::Error;
namespace sqlstate = core::sqlstate;

constexpr size_t kPathsInMessage = 3;

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

} // namespace

core::Uuid new_id()
{
    constexpr int64 kEpochDistance = (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY;
    return core::make_uuid7(GetCurrentTimestamp() + kEpochDistance);
}

void fill_ledger_row(Row &row, const Call &call, const core::Sha256 &hash, const core::Uuid &id)
{
    auto *uuid = static_cast<pg_uuid_t *>(palloc(sizeof(pg_uuid_t)));
    std::memcpy(uuid->data, id.data(), id.size());
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
}

Row ledger_row(const Call &call, const core::Sha256 &hash, const core::Uuid &id)
{
    return backend([&] {
        Row row = make_row(kLedgerColumns);
        fill_ledger_row(row, call, hash, id);
        return row;
    });
}

StoredFingerprint stored_fingerprint(const Row &stored)
{
    const bytea *hash = backend([&] { return DatumGetByteaPP(stored.values[kRequestHash]); });
    return {DatumGetInt16(stored.values[kHashVersion]), {VARDATA_ANY(hash), VARSIZE_ANY_EXHDR(hash)}};
}

bool same_request(const StoredFingerprint &stored, const core::Sha256 &hash)
{
    if (stored.version != core::kHashVersion) {
        core::refuse_hash_version(stored.version);
    }
    return stored.octets.size() == hash.size() && std::memcmp(stored.octets.data(), hash.data(), hash.size()) == 0;
}

void refuse_reuse(const Row &stored, const Request &sent)
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
    refuse_other_request(names.empty() ? "The stored fingerprint is not that of the stored values."
                                       : "The stored request differs in " + names + ".");
}

void refuse_order()
{
    throw Error(sqlstate::kOrderTaken, "order_ref already has a transaction",
                "It was created with another idempotency key.", "One order makes one transaction, whatever its key.");
}

std::optional<std::string> id_text(Datum id)
{
    return backend([id] { return DatumGetCString(DirectFunctionCall1(uuid_out, id)); });
}

std::optional<std::string> id_text(const core::Uuid &id)
{
    pg_uuid_t uuid;
    std::memcpy(uuid.data, id.data(), id.size());
    return id_text(UUIDPGetDatum(&uuid));
}

} // namespace idem::pg
