#pragma once

#include "table.h"

#include "pg.h"

namespace idem::pg {

/// One row of a binding's columns; the values live in the current SPI context.
struct Row {
    Datum *values;
    bool *nulls;
};

/// The most columns that a scope has.
inline constexpr int kMaxScope = 3;

/// A row with room for so many columns, all NULL. Server code.
Row make_row(int columns);

enum class Statement {
    insert_any,   // any unique conflict means "not inserted"
    insert_scope, // so does a conflict on the scope; another one raises 23505
    fetch_scope,  // the row with this tenant_id, operation and idempotency_key
    fetch_order,  // the row with this tenant_id, operation and order_ref
    count
};

/// A column of the scope: its place in a row, what its values look like, and how the scope index compares them.
struct ScopeColumn {
    int place;
    bool by_value;
    int16 length;
    AttrNumber number; // in the table
    Oid equals;        // the function of the operator
    Oid collation;
    int key; // its place in the index
};

enum class Claim {
    inserted,    // the row is in the table now
    scope_found, // a row of the same scope was there before
    order_found  // no such row, but the order_ref has another transaction
};

/// What a write without a statement came to: a claim, or nothing.
struct DirectResult {
    bool done = false;
    Claim claim = Claim::inserted;
};

/// One table as insert_or_fetch() sees it: facts, the shape of its rows, and its statements. Each statement takes a
/// whole row as its parameters.
class Binding {
public:
    virtual ~Binding() = default;

    /// The plan of a statement, kept across calls. Server code.
    virtual SPIPlanPtr plan(Statement statement) const = 0;
    /// Read the row that a statement returned. Server code.
    virtual void read(HeapTuple tuple, TupleDesc descriptor, Row &row) const = 0;
    /// Read a row as the table stores it. Server code.
    virtual void read_stored(HeapTuple tuple, TupleDesc descriptor, Row &row) const = 0;
    /// Insert or fetch without a statement, if that is possible here and now. Server code.
    virtual DirectResult claim_directly(const Row &row, Row &found) const = 0;
    /// Whether a plan that was just run may have met another table of that name. Server code.
    virtual bool renamed() const = 0;

    Table table;
    int columns = 0;
    ScopeColumn scope[kMaxScope];
    int scope_columns = 0;
    int order_column = -1;        // place of order_ref; negative: there is none
    Oid order_index = InvalidOid; // unique on order_ref and the scope's columns but the last one, where there is one
    int id_column = -1;           // place of a value that no other row has; negative: inserts return the stored row
};

} // namespace idem::pg
