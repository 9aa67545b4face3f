#pragma once

#include "../core/exclusion.h"
#include "binding.h"
#include "ledger.h"
#include "row_json.h"

#include <map>
#include <string>
#include <vector>

#include "pg.h"

namespace idem::pg {

/// What becomes of a column that a row leaves out.
enum class DefaultKind {
    null,         // it is NULL
    same,         // the same value in every row
    fresh,        // a value of its own in every row, from a function without effects, such as gen_random_uuid()
    has_effects,  // as nextval() has
    fresh_effects // both, as an identity column
};

/// A further unique key, on which a row may clash beside the scope.
struct FurtherKey {
    bool has_expression;     // or is an exclusion constraint: the columns do not tell when it clashes
    bool nulls_not_distinct; // a NULL does clash with another one
    int count;
    AttrNumber columns[INDEX_MAX_KEYS];
};

/// How the text of a scope argument becomes a value of its column.
struct ScopeInput {
    bool as_it_is; // the column holds text
    FmgrInfo function;
    Oid parameter;
    int32 modifier;
};

/// The plans of the inserts that give values for one set of columns.
struct ColumnSet {
    SPIPlanPtr insert_any = nullptr;
    SPIPlanPtr insert_scope = nullptr;
    bool further_unique = false;
    bool has_effects = false;
};

/// What a session keeps of an attached table until its definition or its registration changes. Columns are places in
/// the table's row, from 0; negative: there is none.
struct AttachedTable {
    MemoryContext memory = nullptr; // all that the server allocates for it
    bool stale = false;             // to be looked at anew
    int users = 0;                  // calls that are running, one inside the other
    Oid registry = InvalidOid;      // which says that it is attached
    Table table;
    SchemaName schema;
    const char *name = nullptr; // qualified, as in the plans
    TupleDesc columns = nullptr;
    const Oid *types = nullptr;
    const DefaultKind *defaults = nullptr;
    const bool *not_null = nullptr;
    const char *row_alias = nullptr; // a name that no column has
    int tenant = -1;
    int operation = -1;
    int key = -1;
    int hash = -1;
    int id = -1;
    ScopeColumn scope[kMaxScope];
    const char *scope_collations[kMaxScope]; // "COLLATE …" of the index, or ""
    const char *scope_operators[kMaxScope]; // "COLLATE … OPERATOR(…)" between a column of the scope and its parameter
    ScopeInput inputs[kMaxScope];
    int scope_columns = 0;
    int further_keys = 0;
    FurtherKey *further = nullptr;
    bool holds_rows = false;    // in a column
    bool holds_domains = false; // whose defaults may change without the table
    FmgrInfo populate;          // jsonb_populate_record for this table
    RowJson json;
    Datum empty_row = 0;
    SPIPlanPtr fetch = nullptr;

    /// Take a row of the table, as one value, apart. Server code.
    void deform(Datum whole, Row &row) const;

    std::string fixed_operation; // in the database encoding; empty: a column holds it
    core::Exclusions exclusions;
    std::map<std::string, int, std::less<>> places; // of columns, by their names in UTF-8
    std::map<std::vector<bool>, ColumnSet> sets;    // by the columns that a row gives
};

/// Keeps an attached table from being looked at anew while a call runs.
class AttachedUse {
public:
    explicit AttachedUse(AttachedTable &table) : table_(table) { ++table_.users; }
    ~AttachedUse() { --table_.users; }
    AttachedUse(const AttachedUse &) = delete;
    AttachedUse &operator=(const AttachedUse &) = delete;

private:
    AttachedTable &table_;
};

/// Find an attached table, lock it for writing (RowExclusiveLock, until the transaction ends) and make sure that its
/// scope is protected. Raises 42809 for what is no table, 42501 where the role may not insert, 55000 where the table is
/// not attached, lost its protection, or was altered within a call on it.
AttachedTable &open_attached(const Home &home, Oid target);

/// Raise 55000 if the table has other columns or lost its index: functions that belong to the columns' types have run.
void check_unaltered(const AttachedTable &table);

/// An attached table and a set of its columns as a binding.
class AttachedBinding final : public Binding {
public:
    /// `given` says which columns `row`, which is to be inserted, gives values for.
    AttachedBinding(AttachedTable &attached, const std::vector<bool> &given, const Row &row);

    SPIPlanPtr plan(Statement statement) const override;
    void read(HeapTuple tuple, TupleDesc descriptor, Row &row) const override;
    void read_stored(HeapTuple tuple, TupleDesc descriptor, Row &row) const override;
    DirectResult claim_directly(const Row &, Row &) const override { return {}; }
    bool renamed() const override;

private:
    AttachedTable &attached_;
    const std::vector<bool> &given_;
    ColumnSet &set_;
};

/// Have the server report what may change an attached table to this file; once per process.
void watch_attached();

} // namespace idem::pg
