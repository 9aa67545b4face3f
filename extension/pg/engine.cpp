#include "engine.h"

#include "../core/errcodes.h"
#include "boundary.h"
#include "busy_limit.h"
#include "encoding.h"
#include "index_fetch.h"
#include "observe.h"
#include "statements.h"

#include <string>

#include "pg.h"

namespace idem::pg {
namespace {

using core::Error;
namespace sqlstate = core::sqlstate;

// A row can vanish between conflict and read only when somebody deletes it just then; often in a row is no accident.
constexpr int kRounds = 6;

// Run server code that may wait for another transaction under idem.busy_timeout.
template <typename F>
auto limited(F body) -> decltype(body())
{
    const WaitWatch watch;
    const BusyLimit limit;
    try {
        return backend([&] {
            const auto result = body();
            if (limit.struck()) {
                CHECK_FOR_INTERRUPTS(); // the wait ended just when the limit struck; its cancel must not outlive it
            }
            return result;
        });
    } catch (const BackendError &e) {
        if (!limit.caused(*e.error)) {
            throw;
        }
        throw Error(sqlstate::kInProgress, "another transaction is processing this idempotency key or order_ref",
                    "It did not end within idem.busy_timeout.", "Retry with the same key and the same parameters.");
    }
}

bool insert(const Binding &binding, Statement statement, const Row &row, Row &found)
{
    return limited([&] { return run_statement(binding, statement, row, found); });
}

// Look for a row, with a plan for the index whenever that is made: one made while the table was small would scan all of
// it and keep doing so while the table grows; under SERIALIZABLE the scan would also conflict with every writer.
bool fetch(const Binding &binding, Statement statement, const Row &row, Row &found)
{
    if (statement == Statement::fetch_scope && backend([&] { return can_fetch_by_index(binding); })) {
        return backend([&] { return fetch_by_index(binding, row, found); });
    }
    if (!binding.table.row_security) {
        const IndexScans index_scans;
        return backend([&] { return run_statement(binding, statement, row, found); });
    }
    // Policies run code, which may set the same setting; so the long way.
    return backend([&] {
        const int level = NewGUCNestLevel();
        (void)set_config_option("enable_seqscan", "off", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
        const bool is_there = run_statement(binding, statement, row, found);
        AtEOXact_GUC(true, level);
        return is_there;
    });
}

bool same_id(const Binding &binding, const Row &left, const Row &right)
{
    return memcmp(DatumGetUUIDP(left.values[binding.id_column]), DatumGetUUIDP(right.values[binding.id_column]),
                  UUID_LEN) == 0;
}

// Whether both rows have one scope, octet for octet.
bool same_scope(const Binding &binding, const Row &left, const Row &right)
{
    return backend([&] {
        for (int i = 0; i < binding.scope_columns; ++i) {
            const ScopeColumn &column = binding.scope[i];
            if (left.nulls[column.place] || right.nulls[column.place] ||
                !datum_image_eq(left.values[column.place], right.values[column.place], column.by_value,
                                column.length)) {
                return false;
            }
        }
        return true;
    });
}

bool hidden_by_policies(const Binding &binding)
{
    return backend([&] { return check_enable_rls(binding.table.relation, InvalidOid, true) == RLS_ENABLED; });
}

// Whether `found`, which holds what the insert returned, if it returned anything, is the row as it was stored.
bool find_stored(const Binding &binding, const Row &row, Row &found)
{
    if (binding.id_column < 0) {
        return same_scope(binding, row, found);
    }
    if (!binding.table.may_change_rows && !binding.table.row_security) {
        found = row;
        return true;
    }
    return fetch(binding, Statement::fetch_scope, row, found) && same_id(binding, row, found);
}

// The row as it was stored: the given one, unless a trigger may have changed it or a policy hides it from its maker,
// who could then never replay it.
Claim stored_row(const Binding &binding, const Row &row, Row &found)
{
    if (!find_stored(binding, row, found)) {
        if (hidden_by_policies(binding)) {
            throw Error(sqlstate::kInsufficientPrivilege, "row-level security hides the new transaction",
                        "The current role may insert the row, but not see it.");
        }
        throw Error(sqlstate::kNotInState, "a trigger changed the scope or the id of the inserted row",
                    "tenant_id, operation, idempotency_key and id must be stored as given.");
    }
    return Claim::inserted;
}

// A relation's name, for a message.
std::string relation_name(Oid relation)
{
    const char *name = backend([relation] { return get_rel_name(relation); });
    return std::string(to_utf8(name != nullptr ? name : "?"));
}

Claim checked_fetch(const Binding &binding, const Row &row, const Row &found)
{
    if (!same_scope(binding, row, found)) {
        throw Error(sqlstate::kDataCorrupted,
                    "index " + relation_name(binding.table.scope_index) + " returned a row of another key", {},
                    "Check the index with amcheck, and REINDEX it.");
    }
    return Claim::scope_found;
}

// Every round said "not inserted", and no row was to be seen: raise the reason.
[[noreturn]] void refuse_unseen(const Binding &binding)
{
    if (hidden_by_policies(binding)) {
        throw Error(sqlstate::kInsufficientPrivilege, "row-level security hides the stored transaction of this key",
                    "The key is taken by a row that the current role may not see.");
    }
    if (backend([&] { return has_row_triggers(binding.table); })) {
        throw Error(sqlstate::kNotInState, "the row was not stored, and no row stands in its way",
                    "A BEFORE INSERT trigger on table " + relation_name(binding.table.relation) +
                        " suppressed it, or index " + relation_name(binding.table.scope_index) + " is damaged.");
    }
    throw Error(sqlstate::kSerializationFailure,
                "could not serialize access: the stored transaction was deleted concurrently", {},
                "Retry the whole transaction with the same key.");
}

// What a row with the same order_ref means: one that appeared after the look for the scope is its twin, no other order.
Claim found_by_order(const Binding &binding, const Row &row, const Row &found)
{
    return same_scope(binding, row, found) ? Claim::scope_found : Claim::order_found;
}

// Whether to look for the row before an insert is tried. Where an insert that yields is not without effect it must not
// be tried if there is a row, so that a replay changes nothing. So too under a snapshot that stays: a row which it
// shows answers the call, also if somebody has deleted it since. A role that may not insert at all is refused by the
// insert, also on a replay.
bool looks_first(const Binding &binding)
{
    return (binding.table.insert_has_effects || IsolationUsesXactSnapshot()) &&
           backend([&] { return may_access(binding.table.relation, ACL_INSERT); });
}

} // namespace

Claim insert_or_fetch(const Binding &binding, const Row &row, Row &found)
{
    const Table &table = binding.table;
    const DirectResult direct = limited([&] { return binding.claim_directly(row, found); });
    if (direct.done) {
        switch (direct.claim) {
        case Claim::inserted:
            return Claim::inserted;
        case Claim::scope_found:
            return checked_fetch(binding, row, found);
        case Claim::order_found:
            return found_by_order(binding, row, found);
        }
    }
    if (looks_first(binding) && fetch(binding, Statement::fetch_scope, row, found)) {
        return checked_fetch(binding, row, found);
    }
    // A bare ON CONFLICT probes every unique index. Without order_ref, and on a table without unique keys of the
    // user's, only the scope can clash.
    const bool has_order = binding.order_column >= 0 && !row.nulls[binding.order_column];
    const bool only_scope = !has_order && !table.further_unique;
    for (int round = 0; round < kRounds; ++round) {
        check_interrupts();
        if (insert(binding, only_scope ? Statement::insert_scope : Statement::insert_any, row, found)) {
            return stored_row(binding, row, found);
        }
        if (fetch(binding, Statement::fetch_scope, row, found)) {
            return checked_fetch(binding, row, found);
        }
        if (has_order && fetch(binding, Statement::fetch_order, row, found)) {
            return found_by_order(binding, row, found);
        }
    }
    // A clash on a further unique key never goes away; this insert lets the server report it (23505).
    if (insert(binding, Statement::insert_scope, row, found)) {
        return stored_row(binding, row, found);
    }
    refuse_unseen(binding);
}

} // namespace idem::pg
