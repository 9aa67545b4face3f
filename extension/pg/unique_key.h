#pragma once

#include "pg.h"

namespace idem::pg {

/// Why an index does not protect a set of columns.
enum class KeyFault {
    none,
    other_columns, // its key is not exactly these columns
    expression,    // an expression stands in the place of a column
    not_unique,
    invalid, // not valid, not ready or being dropped
    deferrable,
    partial,
    nullable,         // a column can be null, and nulls are distinct
    nondeterministic, // a collation for which different texts are equal
    inexact,          // a type in which different keys can be equal, as 1.0 and 1.00, or texts cut to a name
    count
};

/// Whether `index` lets at most one row exist for each value of these columns, told apart octet for octet: unique,
/// valid, ready, immediate, neither partial nor on an expression, in any order and with any INCLUDE columns. The index
/// and its table are open. Server code.
KeyFault key_fault(Relation index, const AttrNumber *columns, int count);

/// The fault as _idem_key_problem() names it.
const char *fault_code(KeyFault fault);

/// Whether the key of the index holds this column.
bool holds_column(Relation index, AttrNumber column);

} // namespace idem::pg
