#include "unique_key.h"

#include "boundary.h"

#include "pg.h"

extern "C" {
#pragma GCC visibility push(default)
PG_FUNCTION_INFO_V1(idem_key_problem);
#pragma GCC visibility pop
}

namespace idem::pg {
namespace {

constexpr const char *kFaultCodes[] = {"none",       "other_columns", "expression", "not_unique",       "invalid",
                                       "deferrable", "partial",       "nullable",   "nondeterministic", "inexact"};
static_assert(lengthof(kFaultCodes) == static_cast<int>(KeyFault::count));

// Whether equal values of the index column are the same octets; the operator class says so where it supports
// deduplication (PostgreSQL documentation, B-tree support function 4, equalimage).
bool equal_is_same(Relation index, int column)
{
    // Minor releases differ in what they say of char, whose equality does not see trailing blanks.
    if (index->rd_opcintype[column] == BPCHAROID) {
        return false;
    }
    const Oid type = index->rd_opcintype[column];
    const Oid function = get_opfamily_proc(index->rd_opfamily[column], type, type, BTEQUALIMAGE_PROC);
    return OidIsValid(function) &&
           DatumGetBool(OidFunctionCall1Coll(function, index->rd_indcollation[column], ObjectIdGetDatum(type)));
}

// Whether the column is char(n): all its values are filled up to the same length, so that equal ones are the same
// octets.
bool is_padded(Relation index, AttrNumber column)
{
    Oid type;
    int32 modifier;
    Oid collation;
    get_atttypetypmodcoll(index->rd_index->indrelid, column, &type, &modifier, &collation);
    return getBaseTypeAndTypmod(type, &modifier) == BPCHAROID && modifier >= 0;
}

// Whether the index is partial. RelationGetIndexPredicate() would fold the predicate's constants: run functions of the
// table's owner with the rights of whoever looks, which may be a superuser's audit.
bool is_partial(Relation index)
{
    return !heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, nullptr);
}

bool is_nondeterministic(Relation index, int column)
{
    const Oid collation = index->rd_indcollation[column];
    return OidIsValid(collation) && !get_collation_isdeterministic(collation);
}

// Whether texts that differ in more than the spelling of one value stay different as values of the column's type.
// Others, as name and "char", cut or round what they read, so that a key would find the row of another one.
bool keeps_keys_apart(Relation index, AttrNumber column)
{
    const Oid type = getBaseType(get_atttype(index->rd_index->indrelid, column));
    switch (type) {
    case BPCHAROID: // with a length
    case TEXTOID:
    case VARCHAROID:
    case UUIDOID:
    case INT2OID:
    case INT4OID:
    case INT8OID:
        return true;
    default:
        return type_is_enum(type);
    }
}

// Whether the table lets the column be null.
bool is_nullable(Relation index, AttrNumber column)
{
    HeapTuple tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(index->rd_index->indrelid), Int16GetDatum(column));
    const bool nullable =
        !HeapTupleIsValid(tuple) || !reinterpret_cast<Form_pg_attribute>(GETSTRUCT(tuple))->attnotnull;
    if (HeapTupleIsValid(tuple)) {
        ReleaseSysCache(tuple);
    }
    return nullable;
}

// Compare the index key with the columns.
KeyFault column_fault(Relation index, const AttrNumber *columns, int count)
{
    const int keys = IndexRelationGetNumberOfKeyAttributes(index);
    int found = 0;
    for (int i = 0; i < count; ++i) {
        found += holds_column(index, columns[i]) ? 1 : 0;
    }
    if (keys != count || found + (holds_column(index, InvalidAttrNumber) ? 1 : 0) < count) {
        return KeyFault::other_columns;
    }
    return found == count ? KeyFault::none : KeyFault::expression;
}

} // namespace

bool holds_column(Relation index, AttrNumber column)
{
    for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); ++i) {
        if (index->rd_index->indkey.values[i] == column) {
            return true;
        }
    }
    return false;
}

KeyFault key_fault(Relation index, const AttrNumber *columns, int count)
{
    const FormData_pg_index *form = index->rd_index;
    if (index->rd_rel->relam != BTREE_AM_OID) {
        return KeyFault::other_columns;
    }
    const KeyFault fault = column_fault(index, columns, count);
    if (fault != KeyFault::none) {
        return fault;
    }
    if (!form->indisunique) {
        return KeyFault::not_unique;
    }
    if (!form->indisvalid || !form->indisready || !form->indislive) {
        return KeyFault::invalid;
    }
    if (!form->indimmediate) {
        return KeyFault::deferrable;
    }
    if (is_partial(index)) {
        return KeyFault::partial;
    }
    for (int i = 0; i < count; ++i) {
        if (!form->indnullsnotdistinct && is_nullable(index, form->indkey.values[i])) {
            return KeyFault::nullable;
        }
        const AttrNumber column = form->indkey.values[i];
        if (is_nondeterministic(index, i)) {
            return KeyFault::nondeterministic;
        }
        if (!(equal_is_same(index, i) || is_padded(index, column)) || !keeps_keys_apart(index, column)) {
            return KeyFault::inexact;
        }
    }
    return KeyFault::none;
}

const char *fault_code(KeyFault fault)
{
    return kFaultCodes[static_cast<int>(fault)];
}

} // namespace idem::pg

// _idem_key_problem(index regclass, columns smallint[]): NULL where the index protects the columns, else why not.
Datum idem_key_problem(PG_FUNCTION_ARGS)
{
    return idem::pg::guarded([fcinfo] {
        return idem::pg::backend([fcinfo]() -> Datum {
            ArrayType *array = PG_GETARG_ARRAYTYPE_P(1);
            if (ARR_NDIM(array) != 1 || ARR_HASNULL(array) || ARR_DIMS(array)[0] > INDEX_MAX_KEYS) {
                ereport(ERROR,
                        (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("columns must be one list of numbers")));
            }
            // The caller's snapshot may show an index that is gone by now, as REINDEX CONCURRENTLY drops it.
            Relation index = try_relation_open(PG_GETARG_OID(0), AccessShareLock);
            if (index == nullptr) {
                PG_RETURN_TEXT_P(cstring_to_text(idem::pg::fault_code(idem::pg::KeyFault::invalid)));
            }
            if (index->rd_rel->relkind != RELKIND_INDEX && index->rd_rel->relkind != RELKIND_PARTITIONED_INDEX) {
                ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
                                errmsg("\"%s\" is not an index", RelationGetRelationName(index))));
            }
            const auto *columns = reinterpret_cast<const AttrNumber *>(ARR_DATA_PTR(array));
            const idem::pg::KeyFault fault = idem::pg::key_fault(index, columns, ARR_DIMS(array)[0]);
            index_close(index, AccessShareLock);
            if (fault == idem::pg::KeyFault::none) {
                PG_RETURN_NULL();
            }
            PG_RETURN_TEXT_P(cstring_to_text(idem::pg::fault_code(fault)));
        });
    });
}
