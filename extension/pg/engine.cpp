#include "engine.h"

#include "boundary.h"
#include "bounded_insert.h"
#include "index_fetch.h"
#include "refusals.h"
#include "statements.h"

#include <algorithm>

#include "pg.h"

namespace idem::pg {
namespace {

// Run an insert under idem.busy_timeout.
bool insert(const Binding &binding, Statement statement, const Row &row, Row &found)
{
    return insert_within_limit([&] { return run_statement(binding, statement, row, found); });
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

// Whether a column of both rows has one value, octet for octet, and not NULL. Server code.
bool same_value(const ScopeColumn &column, const Row &left, const Row &right)
{
    return !left.nulls[column.place] && !right.nulls[column.place] &&
           datum_image_eq(left.values[column.place], right.values[column.place], column.by_value, column.length);
}

// Whether both rows have the same values in the first columns of the scope.
bool same_scope(const Binding &binding, const Row &left, const Row &right, int columns)
{
    return backend([&] {
        return std::all_of(binding.scope, binding.scope + columns,
                           [&](const ScopeColumn &column) { return same_value(column, left, right); });
    });
}

bool same_scope(const Binding &binding, const Row &left, const Row &right)
{
    return same_scope(binding, left, right, binding.scope_columns);
}

// Whether both rows have one order_ref, which belongs to all columns of the scope but the key.
bool same_order(const Binding &binding, const Row &left, const Row &right)
{
    const ScopeColumn order{binding.order_column, false, -1, InvalidAttrNumber, InvalidOid, InvalidOid, 0};
    return same_scope(binding, left, right, binding.scope_columns - 1) &&
           backend([&] { return same_value(order, left, right); });
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
        refuse_changed(binding);
    }
    return Claim::inserted;
}

Claim checked_fetch(const Binding &binding, const Row &row, const Row &found)
{
    if (!same_scope(binding, row, found)) {
        refuse_other_key(binding.table.scope_index);
    }
    return Claim::scope_found;
}

// What a row with the same order_ref means: one that appeared after the look for the scope is its twin, no other order.
Claim found_by_order(const Binding &binding, const Row &row, const Row &found)
{
    if (same_scope(binding, row, found)) {
        return Claim::scope_found;
    }
    if (!same_order(binding, row, found)) {
        refuse_other_key(binding.order_index);
    }
    return Claim::order_found;
}

} // namespace

bool looks_first(const Binding &binding)
{
    return (binding.table.insert_has_effects || IsolationUsesXactSnapshot()) &&
           backend([&] { return may_access(binding.table.relation, ACL_INSERT); });
}

bool find_by_scope(const Binding &binding, const Row &row, Row &found)
{
    return fetch(binding, Statement::fetch_scope, row, found);
}

Claim insert_or_fetch(const Binding &binding, const Row &row, Row &found)
{
    const Table &table = binding.table;
    const DirectResult direct = insert_within_limit([&] { return binding.claim_directly(row, found); });
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
    // A clash on a further unique key never goes away; this insert lets the server report it (23505). It is also the
    // first one that waits for the scope where that key's index comes before the scope's.
    if (insert(binding, Statement::insert_scope, row, found)) {
        return stored_row(binding, row, found);
    }
    if (fetch(binding, Statement::fetch_scope, row, found)) {
        return checked_fetch(binding, row, found);
    }
    refuse_unseen(binding);
}

} // namespace idem::pg
