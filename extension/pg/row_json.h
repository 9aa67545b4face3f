#pragma once

#include "pg.h"

namespace idem::pg {

/// Makes jsonb of a table's rows, as to_jsonb() does, but looks the columns' types up only once.
class RowJson {
public:
    /// For rows of these columns; what is kept for later goes to `memory`. Server code.
    void set_up(TupleDesc columns, MemoryContext memory);

    /// A row as jsonb in the current memory context. Server code. Raises what the output of a column's type raises.
    Jsonb *make(const Datum *values, const bool *nulls);

private:
    // `printed`: a string as the type's output function gives it; `other`: as to_jsonb() says.
    enum class Kind { dropped, boolean, integer2, integer4, integer8, text, printed, time, jsonb, other };

    struct Column {
        Kind kind;
        Oid type;
        FmgrInfo output;  // of the type, where it is printed
        FmgrInfo to_json; // to_jsonb for the type, where it is needed
    };

    static Kind kind_of(const FormData_pg_attribute *column);
    static void fill(Column &column, Datum datum, ::JsonbValue &value);

    TupleDesc columns_ = nullptr;
    Column *shapes_ = nullptr;
};

/// Set `function` up to be called many times with one argument of the given type first. Server code.
void set_up_function(FmgrInfo *function, Oid oid, Oid result, Oid argument, MemoryContext memory);

} // namespace idem::pg
