#include "write_path.h"

#include "guc.h"
#include "ledger.h"
#include "other_libraries.h"
#include "unique_key.h"
#include "version.h"

#include "pg.h"

namespace idem::pg {
namespace {

// What the index entries of a direct write are made with, until the table is looked at again.
MemoryContext index_memory()
{
    static MemoryContext memory = nullptr;
    if (memory == nullptr) {
        memory = AllocSetContextCreate(CacheMemoryContext, "idem index infos", ALLOCSET_SMALL_SIZES);
    }
    return memory;
}

// Whether the columns are those of a ledger and no others, stored as they are given, and order_ref may be null.
bool has_plain_columns(Relation table, const Ledger &ledger)
{
    TupleDesc columns = RelationGetDescr(table);
    for (int i = 0; i < columns->natts; ++i) {
        const FormData_pg_attribute *column = TupleDescAttr(columns, i);
        if (column->attisdropped || column->attgenerated != '\0' || column->attidentity != '\0') {
            return false;
        }
    }
    return columns->natts == kLedgerColumns && !TupleDescAttr(columns, ledger.numbers[kOrderRef] - 1)->attnotnull;
}

// Whether a column's type has a modifier, to which a statement would fit the value; timestamptz(0) rounds it.
bool has_modifiers(Relation table)
{
    TupleDesc columns = RelationGetDescr(table);
    for (int i = 0; i < columns->natts; ++i) {
        if (TupleDescAttr(columns, i)->atttypmod >= 0) {
            return true;
        }
    }
    return false;
}

const char *kind_declines(Relation table)
{
    const FormData_pg_class *form = table->rd_rel;
    if (form->relkind != RELKIND_RELATION) {
        return "The table is partitioned.";
    }
    if (form->relispartition) {
        return "The table is a partition.";
    }
    // The flag outlives the last child.
    if (form->relhassubclass && find_inheritance_children(RelationGetRelid(table), NoLock) != NIL) {
        return "The table has inheritance children.";
    }
    if (form->relam != HEAP_TABLE_AM_OID) {
        return "The table's access method is not heap.";
    }
    if (form->relpersistence != RELPERSISTENCE_PERMANENT) {
        return "The table is unlogged or temporary.";
    }
    return nullptr;
}

const char *table_declines(Relation table, const Ledger &ledger)
{
    const TriggerDesc *triggers = table->trigdesc;
    const TupleConstr *constraints = RelationGetDescr(table)->constr;
    if (!has_plain_columns(table, ledger)) {
        return "The table has added, dropped, generated or identity columns, or order_ref is NOT NULL.";
    }
    if (has_modifiers(table)) {
        return "A column's type has a modifier.";
    }
    if (table->rd_rel->relrowsecurity) {
        return "The table has row security.";
    }
    if (table->rd_rules != nullptr) {
        return "The table has a rule.";
    }
    if (RelationGetFKeyList(table) != NIL) {
        return "The table has a foreign key.";
    }
    if (triggers != nullptr && (triggers->trig_insert_before_row || triggers->trig_insert_after_row ||
                                triggers->trig_insert_before_statement || triggers->trig_insert_after_statement ||
                                triggers->trig_insert_new_table)) {
        return "The table has a trigger for INSERT.";
    }
    if (constraints != nullptr && constraints->num_check > 0) {
        return "The table has a check constraint.";
    }
    // A table that clashes on further keys needs a statement that yields to all of them.
    return ledger.further_unique ? "The table has further unique keys or exclusion constraints." : nullptr;
}

// Whether comparing keys runs code that is not the server's own.
bool has_foreign_operators(Relation index)
{
    for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); ++i) {
        if (index->rd_opfamily[i] >= FirstNormalObjectId) {
            return true;
        }
    }
    return false;
}

const char *index_declines(Relation index, const Ledger &ledger)
{
    const FormData_pg_index *form = index->rd_index;
    const bool arbiter = form->indexrelid == ledger.scope_index || form->indexrelid == ledger.order_index;
    if (!form->indisvalid || !form->indisready || !form->indislive) {
        return "An index is not valid, or just being built.";
    }
    if (index->rd_rel->relam != BTREE_AM_OID) {
        return "An index is not a B-tree.";
    }
    if (holds_column(index, InvalidAttrNumber)) {
        return "An index is on an expression.";
    }
    if (has_foreign_operators(index)) {
        return "An index uses an operator class that is not PostgreSQL's own.";
    }
    if (form->indexrelid != ledger.order_index && RelationGetIndexPredicate(index) != NIL) {
        return "An index is partial.";
    }
    // The insert would wait for a twin in the middle of a second index on the same columns, and then fail.
    if (form->indisunique && !arbiter && !holds_column(index, ledger.numbers[kId])) {
        return "The table has further unique keys or exclusion constraints.";
    }
    return nullptr;
}

DirectIndex describe(Relation index, const Ledger &ledger)
{
    DirectIndex entry{};
    entry.relation = RelationGetRelid(index);
    MemoryContext caller = MemoryContextSwitchTo(index_memory());
    entry.info = BuildIndexInfo(index);
    MemoryContextSwitchTo(caller);
    entry.check = index->rd_index->indisunique ? UNIQUE_CHECK_YES : UNIQUE_CHECK_NO;
    if (entry.relation == ledger.scope_index || entry.relation == ledger.order_index) {
        entry.check = UNIQUE_CHECK_PARTIAL;
    }
    entry.skips_null_orders = entry.info->ii_Predicate != NIL;
    return entry;
}

} // namespace

WritePath find_write_path(Relation table, const Ledger &ledger)
{
    WritePath path;
    MemoryContextReset(index_memory());
    path.declined = kind_declines(table);
    if (path.declined == nullptr) {
        path.declined = table_declines(table, ledger);
    }
    ListCell *cell;
    List *indexes = RelationGetIndexList(table);
    if (path.declined == nullptr && list_length(indexes) > kMaxDirectIndexes) {
        path.declined = "The table has more than 8 indexes.";
    }
    foreach (cell, indexes) {
        if (path.declined != nullptr) {
            break;
        }
        Relation index = index_open(lfirst_oid(cell), AccessShareLock);
        path.declined = index_declines(index, ledger);
        if (path.declined == nullptr) {
            path.index[path.indexes++] = describe(index, ledger);
        }
        index_close(index, NoLock);
    }
    list_free(indexes);
    return path;
}

const char *direct_write_declined(const Ledger &ledger)
{
    if (ledger.path.declined != nullptr) {
        return ledger.path.declined;
    }
    if (!direct_path) {
        return "idem.direct_path is off.";
    }
    if (IsolationUsesXactSnapshot()) {
        return "The transaction is not READ COMMITTED.";
    }
    // A statement is refused there; a write past it would not be.
    if (RecoveryInProgress() || XactReadOnly || IsInParallelMode()) {
        return "The transaction cannot write.";
    }
    const char *library = library_in_the_way();
    if (library != nullptr) {
        return library;
    }
    constexpr AclMode kNeeded = ACL_SELECT | ACL_INSERT;
    if (pg_class_aclmask(ledger.relation, GetUserId(), kNeeded, ACLMASK_ALL) != kNeeded) {
        return "The role lacks SELECT or INSERT on the whole table.";
    }
    if (!may_use_schema(GetUserId(), ledger.schema)) {
        return "The role lacks USAGE on the table's schema.";
    }
    return nullptr;
}

} // namespace idem::pg
