#include "../core/difference.h"
#include "../core/errcodes.h"
#include "../core/row_fingerprint.h"
#include "arguments.h"
#include "attached.h"
#include "boundary.h"
#include "call_site.h"
#include "encoding.h"
#include "engine.h"
#include "jsonb_value.h"
#include "observe.h"
#include "refusals.h"
#include "row_members.h"

#include <algorithm>
#include <optional>

#include "pg.h"

extern "C" {
#pragma GCC visibility push(default)
PG_FUNCTION_INFO_V1(idem_insert);
PG_FUNCTION_INFO_V1(idem_try_insert);
#pragma GCC visibility pop
}

namespace idem::pg {
namespace {

using core::Error;
namespace sqlstate = core::sqlstate;

enum Argument { kTargetArg, kTenantArg, kKeyArg, kRowArg, kOperationArg };

enum ResultColumn { kResultOutcome, kResultRow, kResultColumns };

constexpr size_t kPathsInMessage = 3;

// The arguments of a call.
struct Call {
    Oid target;
    TextArgument tenant_id;
    TextArgument idempotency_key;
    Jsonb *row;
    TextArgument operation;
};

// Read the arguments and check what does not depend on the table, in the order that the contract fixes.
Call read_call(FunctionCallInfo fcinfo)
{
    if (PG_ARGISNULL(kTargetArg)) {
        core::refuse_null("target");
    }
    Call call{PG_GETARG_OID(kTargetArg), text_argument(fcinfo, kTenantArg), text_argument(fcinfo, kKeyArg), nullptr,
              text_argument(fcinfo, kOperationArg)};
    call.tenant_id.check_not_null("tenant_id");
    call.idempotency_key.check_not_null("idempotency_key");
    if (PG_ARGISNULL(kRowArg)) {
        core::refuse_null("row");
    }
    call.tenant_id.check(core::kTenantRule);
    call.idempotency_key.check(core::kKeyRule);
    call.row = backend([fcinfo] { return PG_GETARG_JSONB_P(kRowArg); });
    if (!JB_ROOT_IS_OBJECT(call.row)) {
        throw Error(sqlstate::kInvalidParameter, "row must be a JSON object");
    }
    if (!call.operation.null) {
        call.operation.check(core::kOperationRule);
    }
    return call;
}

// The operation of the row, from the argument or fixed for the table.
std::string_view operation_of(const Call &call, const AttachedTable &table)
{
    if (table.fixed_operation.empty()) {
        call.operation.check_not_null("operation");
        return call.operation.octets;
    }
    if (!call.operation.null && call.operation.octets != table.fixed_operation) {
        throw Error(sqlstate::kInvalidParameter, "operation is not the one that the table is attached with");
    }
    return table.fixed_operation;
}

// The columns that the row gives values for, those of the scope and the fingerprint included.
std::vector<bool> given_columns(const Call &call, const AttachedTable &table)
{
    std::vector<bool> given(static_cast<size_t>(table.columns->natts), false);
    const JsonbValue row(call.row);
    for (size_t index = 0; index < row.size(); ++index) {
        const std::string_view name = row.name(index);
        const auto place = table.places.find(name);
        if (place == table.places.end()) {
            refuse_member(name, "table " + std::string(to_utf8(table.name)));
        }
        if (table.holds_rows) {
            check_members(row.child(index), table.types[place->second]);
        }
        given[static_cast<size_t>(place->second)] = true;
    }
    const int own[] = {table.tenant, table.operation, table.key, table.hash};
    for (const int place : own) {
        if (place < 0) {
            continue;
        }
        if (given[static_cast<size_t>(place)]) {
            throw Error(sqlstate::kInvalidParameter, "row must not give the columns of the scope or the fingerprint",
                        "The arguments give tenant, operation and key; idem gives the fingerprint.");
        }
        given[static_cast<size_t>(place)] = true;
    }
    return given;
}

// A scope argument as a value of its column. Server code.
Datum scope_value(ScopeInput &input, const TextArgument &argument)
{
    if (input.as_it_is) {
        return argument.value;
    }
    return InputFunctionCall(&input.function, text_to_cstring(DatumGetTextPP(argument.value)), input.parameter,
                             input.modifier);
}

// The row's values as one of the table's rows. Server code.
Datum populated_row(const Call &call, AttachedTable &table)
{
    if (!table.holds_rows) {
        return FunctionCall2(&table.populate, table.empty_row, JsonbPGetDatum(call.row));
    }
    FmgrInfo populate = table.populate; // which would keep how their types look
    populate.fn_extra = nullptr;
    populate.fn_mcxt = CurrentMemoryContext;
    return FunctionCall2(&populate, table.empty_row, JsonbPGetDatum(call.row));
}

// The row that is to be stored: the values of the JSON document in the types of the columns, scope and fingerprint.
Row new_row(const Call &call, AttachedTable &table, const std::string &fingerprint)
{
    return backend([&] {
        Row row = make_row(table.columns->natts);
        table.deform(populated_row(call, table), row);
        const auto set_scope = [&](int i, const TextArgument &argument) {
            const int place = table.scope[i].place;
            row.values[place] = scope_value(table.inputs[i], argument);
            row.nulls[place] = false;
        };
        int i = 0;
        set_scope(i++, call.tenant_id);
        if (table.operation >= 0) {
            set_scope(i++, call.operation);
        }
        set_scope(i, call.idempotency_key);
        row.values[table.hash] = bytea_datum(fingerprint);
        row.nulls[table.hash] = false;
        return row;
    });
}

// Where the columns that the call gives differ from the stored ones, less what is excluded.
core::Differences differences(const Call &call, AttachedTable &table, const Row &row, const Row &stored,
                              const core::Exclusions &exclusions, size_t limit)
{
    using Value = core::Pruned<JsonbValue>;
    const auto json = [&table](const Row &of) {
        return JsonbValue(backend([&] { return table.json.make(of.values, of.nulls); }));
    };
    const core::Exclusions::Node *excluded = exclusions.root();
    // The sent row as the table would store it: a stored 1.50 does not differ from a sent 1.5.
    const Value sent(json(row), excluded);
    const Value there(json(stored), excluded);
    const JsonbValue given(call.row);
    core::Differences::Names names;
    for (size_t index = 0; index < given.size(); ++index) {
        names.emplace(given.name(index));
    }
    core::Differences found(limit);
    found.compare_members(there, sent, names);
    return found;
}

// The fingerprint of a stored row; nothing in rows from before the table was attached.
std::optional<std::string_view> stored_fingerprint(const AttachedTable &table, const Row &stored)
{
    if (stored.nulls[table.hash]) {
        return std::nullopt;
    }
    return backend([&] { return text_octets(stored.values[table.hash]); });
}

// Whether the stored row is of the same request.
bool same_request(const Call &call, AttachedTable &table, const Row &row, const Row &stored, std::string_view operation,
                  std::string_view fingerprint)
{
    const auto there = stored_fingerprint(table, stored);
    return there ? core::same_row(*there, fingerprint, operation, JsonbValue(call.row))
                 : differences(call, table, row, stored, table.exclusions, 1).paths().empty();
}

// Raise ID001 and say where the call differs from the stored row, never a value.
[[noreturn]] void refuse_reuse(const core::Differences &found)
{
    std::string paths;
    for (const std::string &path : found.paths()) {
        paths += (paths.empty() ? "" : ", ") + path;
    }
    refuse_other_request(paths.empty() ? "The first call gave other columns, or the row was changed since."
                                       : "The stored row differs in " + paths + (found.more() ? ", ..." : "") + ".");
}

// Insert or fetch, and tell what that means for the request. With `raise`, ID001 is an error.
Outcome decide(const Call &call, AttachedTable &table, bool raise, Row &stored)
{
    const std::vector<bool> given = given_columns(call, table);
    const std::string_view operation = to_utf8(operation_of(call, table));
    const std::string fingerprint = core::row_fingerprint(operation, JsonbValue(call.row), table.exclusions);
    const Row row = new_row(call, table, fingerprint);
    check_unaltered(table);
    const AttachedBinding binding(table, given, row);
    if (insert_or_fetch(binding, row, stored) == Claim::inserted) {
        return Outcome::created;
    }
    if (same_request(call, table, row, stored, operation, fingerprint)) {
        return Outcome::replayed;
    }
    if (raise) {
        const auto there = stored_fingerprint(table, stored);
        std::optional<core::Exclusions> then;
        if (there) {
            then.emplace(core::stored_exclusions(*there));
        }
        refuse_reuse(differences(call, table, row, stored, then ? *then : table.exclusions, kPathsInMessage));
    }
    return Outcome::conflict;
}

Datum result_row(const CallSite &site, Outcome outcome, AttachedTable &table, const Row &stored)
{
    Datum values[kResultColumns] = {};
    bool nulls[kResultColumns] = {};
    values[kResultOutcome] = outcome_datum(site, outcome);
    nulls[kResultRow] = outcome == Outcome::conflict;
    if (!nulls[kResultRow]) {
        values[kResultRow] = JsonbPGetDatum(table.json.make(stored.values, stored.nulls));
    }
    return HeapTupleGetDatum(heap_form_tuple(site.result, values, nulls));
}

// The id of a row, for the log; none where the table has no column for it, and where it is not sure to be valid UTF-8:
// the log must not make a call fail.
std::optional<std::string> id_text(const AttachedTable &table, const Row &stored)
{
    if (table.id < 0 || stored.nulls[table.id]) {
        return std::nullopt;
    }
    const char *text = backend([&] {
        Oid output = InvalidOid;
        bool varlena = false;
        getTypeOutputInfo(table.types[table.id], &output, &varlena);
        return OidOutputFunctionCall(output, stored.values[table.id]);
    });
    const std::string id = text;
    if (GetDatabaseEncoding() != PG_UTF8 &&
        std::any_of(id.begin(), id.end(), [](char c) { return IS_HIGHBIT_SET(c); })) {
        return std::nullopt;
    }
    return id;
}

Datum insert_row(FunctionCallInfo fcinfo, const char *name, bool raise)
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
    AttachedTable &table = open_attached(site.home, call.target);
    const AttachedUse use(table);
    Row stored = backend([&table] { return make_row(table.columns->natts); });
    const std::string_view operation = table.fixed_operation.empty() ? call.operation.octets : table.fixed_operation;
    const Outcome outcome = observe(
        {call.tenant_id.octets, operation, call.idempotency_key.octets},
        [&] { return decide(call, table, raise, stored); }, [&] { return id_text(table, stored); });
    return backend([&] {
        MemoryContextSwitchTo(caller);
        const Datum result = result_row(site, outcome, table, stored);
        SPI_finish();
        return result;
    });
}

Datum insert(FunctionCallInfo fcinfo)
{
    return insert_row(fcinfo, "idem_insert()", true);
}

Datum try_insert(FunctionCallInfo fcinfo)
{
    return insert_row(fcinfo, "idem_try_insert()", false);
}

} // namespace
} // namespace idem::pg

// Insert a row into an attached table, or replay the one that the key has; a changed row is an error.
Datum idem_insert(PG_FUNCTION_ARGS)
{
    return idem::pg::entry<idem::pg::insert>(fcinfo);
}

// The same; a changed row is an outcome.
Datum idem_try_insert(PG_FUNCTION_ARGS)
{
    return idem::pg::entry<idem::pg::try_insert>(fcinfo);
}
