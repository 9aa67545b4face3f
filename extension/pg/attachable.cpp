#include "attachable.h"

#include "unique_key.h"

#include <algorithm>

#include "pg.h"

namespace idem::pg {
namespace {

// Raise 55000 with a formatted detail; the hint may be missing.
void refuse(Relation table, const char *detail, const char *hint)
{
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("table %s cannot serve as an attached table", qualified_name(table)),
                    errdetail_internal("%s", detail), hint != nullptr ? errhint("%s", hint) : 0));
}

// The names of columns, "a, b, c".
const char *column_list(Oid relation, const AttrNumber *columns, int count)
{
    StringInfoData list;
    initStringInfo(&list);
    for (int i = 0; i < count; ++i) {
        const char *name = get_attname(relation, columns[i], true);
        appendStringInfo(&list, "%s%s", i == 0 ? "" : ", ", name == nullptr ? "?" : quote_identifier(name));
    }
    return list.data;
}

// A column that the registration names must be there.
void check_column(Relation table, AttrNumber column, const char *role)
{
    if (column <= 0 || column > RelationGetNumberOfAttributes(table) ||
        TupleDescAttr(RelationGetDescr(table), column - 1)->attisdropped) {
        refuse(table, psprintf("The column that holds the %s is missing.", role),
               "Attach the table again, with the names of its columns.");
    }
}

// A call gives the values of the scope and the fingerprint.
void check_writable(Relation table, AttrNumber column)
{
    const FormData_pg_attribute *form = TupleDescAttr(RelationGetDescr(table), column - 1);
    if (form->attgenerated != '\0' || form->attidentity == ATTRIBUTE_IDENTITY_ALWAYS) {
        refuse(table,
               psprintf("Column %s is generated, so that a call cannot give its value.",
                        quote_identifier(NameStr(form->attname))),
               "Use a column without GENERATED ALWAYS.");
    }
}

// Whether the table is partitioned by something else than columns of the scope, so that no unique key is on them alone.
bool is_partitioned_otherwise(Relation table, const AttrNumber *scope, int count)
{
    const PartitionKeyData *key = RelationGetPartitionKey(table); // null for a table that is not partitioned
    for (int i = 0; key != nullptr && i < key->partnatts; ++i) {
        if (std::find(scope, scope + count, key->partattrs[i]) == scope + count) {
            return true;
        }
    }
    return false;
}

// The DDL that brings an index which protects the scope, or what there is to say where there can be none.
const char *index_ddl(Relation table, const char *list, const AttrNumber *scope, int count)
{
    if (is_partitioned_otherwise(table, scope, count)) {
        return psprintf("A partitioned table can be attached where its partition key is of the columns (%s), as with "
                        "PARTITION BY HASH (%s).",
                        list, column_list(RelationGetRelid(table), scope, 1));
    }
    const char *name = quote_identifier(makeObjectName(RelationGetRelationName(table), nullptr, "idem_scope_key"));
    if (table->rd_rel->relkind == RELKIND_PARTITIONED_TABLE) {
        return psprintf("CREATE UNIQUE INDEX %s ON %s (%s);", name, qualified_name(table), list);
    }
    return psprintf(
        "CREATE UNIQUE INDEX CONCURRENTLY %s ON %s (%s); ALTER TABLE %s ADD CONSTRAINT %s UNIQUE USING INDEX %s;", name,
        qualified_name(table), list, qualified_name(table), name, name);
}

const char *not_null_ddl(Relation table, const AttrNumber *scope, int count)
{
    StringInfoData ddl;
    initStringInfo(&ddl);
    appendStringInfo(&ddl, "ALTER TABLE %s", qualified_name(table));
    const char *separator = " ";
    for (int i = 0; i < count; ++i) {
        const FormData_pg_attribute *column = TupleDescAttr(RelationGetDescr(table), scope[i] - 1);
        if (!column->attnotnull) {
            appendStringInfo(&ddl, "%sALTER COLUMN %s SET NOT NULL", separator,
                             quote_identifier(NameStr(column->attname)));
            separator = ", ";
        }
    }
    appendStringInfoChar(&ddl, ';');
    return ddl.data;
}

// Whether the index is unique on the scope and further columns, as on a table partitioned by time.
bool is_wider(Relation index, const AttrNumber *scope, int count)
{
    for (int i = 0; i < count; ++i) {
        if (!holds_column(index, scope[i])) {
            return false;
        }
    }
    return index->rd_index->indisunique && !holds_column(index, InvalidAttrNumber);
}

// Say why this index, which comes nearest, does not do. `replaced`: another one does.
void refuse_index(Relation table, Relation index, KeyFault fault, bool replaced, const AttrNumber *scope, int count)
{
    const char *list = column_list(RelationGetRelid(table), scope, count);
    const char *ddl = index_ddl(table, list, scope, count);
    const char *reason = "";
    const char *hint = ddl;
    switch (fault) {
    case KeyFault::other_columns:
        reason = "it has further columns, so that a key is unique only together with them";
        break;
    case KeyFault::expression:
        reason = "it is on an expression";
        break;
    case KeyFault::not_unique:
        reason = "it is not unique";
        break;
    case KeyFault::invalid:
        reason = "it is not valid";
        hint = psprintf(
            "DROP INDEX %s%s; then, when idem_find_duplicates() finds no duplicates: %s",
            table->rd_rel->relkind == RELKIND_PARTITIONED_TABLE ? "" : "CONCURRENTLY ",
            quote_qualified_identifier(get_namespace_name(RelationGetNamespace(index)), RelationGetRelationName(index)),
            ddl);
        break;
    case KeyFault::deferrable:
        reason = "it is deferrable";
        hint = psprintf("%s%sALTER TABLE %s DROP CONSTRAINT %s;", replaced ? "" : ddl, replaced ? "" : " ",
                        qualified_name(table), quote_identifier(RelationGetRelationName(index)));
        break;
    case KeyFault::partial:
        reason = "it is partial";
        break;
    case KeyFault::nullable:
        reason = "a column can be null, and nulls are distinct";
        hint = not_null_ddl(table, scope, count);
        break;
    case KeyFault::nondeterministic:
        reason = "a collation is nondeterministic, so that different keys are equal";
        hint = R"(Give the columns the collation "C": ALTER TABLE ... ALTER COLUMN ... TYPE text COLLATE "C";)";
        break;
    case KeyFault::inexact:
        reason = "different keys can be equal in a column's type";
        hint = "Use text, uuid, an integer type or an enum.";
        break;
    default:
        pg_unreachable();
    }
    refuse(table,
           psprintf("Index %s does not protect the scope (%s): %s.", quote_identifier(RelationGetRelationName(index)),
                    list, reason),
           hint);
}

// The protecting index. Other constraints must let an insert yield to a twin that clashes on them.
Oid protecting_index(Relation table, const AttrNumber *scope, int count)
{
    Oid protecting = InvalidOid;
    Oid deferrable = InvalidOid;
    Oid nearest = InvalidOid;
    KeyFault nearest_fault = KeyFault::other_columns;
    ListCell *cell;
    List *indexes = RelationGetIndexList(table);
    foreach (cell, indexes) {
        Relation index = index_open(lfirst_oid(cell), AccessShareLock);
        const KeyFault fault = key_fault(index, scope, count);
        if (fault == KeyFault::none) {
            protecting = lfirst_oid(cell);
        } else if (fault == KeyFault::deferrable) {
            deferrable = lfirst_oid(cell);
        } else if (fault != KeyFault::other_columns ||
                   (is_wider(index, scope, count) && nearest_fault == KeyFault::other_columns)) {
            nearest = lfirst_oid(cell);
            nearest_fault = fault;
        }
        if (fault != KeyFault::deferrable && may_clash(index) && !index->rd_index->indimmediate) {
            refuse(table, psprintf("Constraint %s is deferrable.", quote_identifier(RelationGetRelationName(index))),
                   "Make the constraint NOT DEFERRABLE: an insert cannot yield to a twin that clashes on it.");
        }
        index_close(index, NoLock);
    }
    if (OidIsValid(deferrable)) { // no insert can yield to a twin that clashes on it, whatever else there is
        refuse_index(table, index_open(deferrable, AccessShareLock), KeyFault::deferrable, OidIsValid(protecting),
                     scope, count);
    }
    if (OidIsValid(protecting)) {
        return protecting;
    }
    if (OidIsValid(nearest)) {
        refuse_index(table, index_open(nearest, AccessShareLock), nearest_fault, false, scope, count);
    }
    const char *list = column_list(RelationGetRelid(table), scope, count);
    refuse(table, psprintf("No unique index protects the scope (%s).", list), index_ddl(table, list, scope, count));
    pg_unreachable();
}

} // namespace

int scope_of(const Registration &registration, AttrNumber *columns)
{
    int count = 0;
    columns[count++] = registration.tenant;
    if (registration.fixed_operation == nullptr) {
        columns[count++] = registration.operation;
    }
    columns[count++] = registration.key;
    return count;
}

void check_kind(Oid target)
{
    HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(target));
    if (!HeapTupleIsValid(tuple)) {
        ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE), errmsg("target does not exist")));
    }
    const FormData_pg_class form = *reinterpret_cast<Form_pg_class>(GETSTRUCT(tuple));
    ReleaseSysCache(tuple);
    const char *name = pstrdup(NameStr(form.relname));
    if (form.relkind != RELKIND_RELATION && form.relkind != RELKIND_PARTITIONED_TABLE) {
        ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE), errmsg("\"%s\" is not a table", name)));
    }
    if (IsCatalogNamespace(form.relnamespace) || IsToastNamespace(form.relnamespace)) {
        ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                        errmsg("permission denied: \"%s\" is a system catalog", name)));
    }
    if (form.relpersistence == RELPERSISTENCE_TEMP) {
        ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("\"%s\" is a temporary table", name),
                        errdetail("What it holds ends with its session; a retry may come from another one.")));
    }
    if (form.relispartition) {
        ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE), errmsg("\"%s\" is a partition", name),
                        errhint("Use the partitioned table.")));
    }
}

Oid check_attachable(Relation table, const Registration &registration)
{
    check_column(table, registration.tenant, "tenant");
    if (registration.fixed_operation == nullptr) {
        check_column(table, registration.operation, "operation");
    }
    check_column(table, registration.key, "idempotency key");
    check_column(table, registration.hash, "fingerprint");
    const FormData_pg_attribute *hash = TupleDescAttr(RelationGetDescr(table), registration.hash - 1);
    if (hash->atttypid != BYTEAOID) {
        refuse(table,
               psprintf("Column %s, for the fingerprint, must be of type bytea.",
                        quote_identifier(NameStr(hash->attname))),
               nullptr);
    }
    AttrNumber scope[kMaxScope];
    const int count = scope_of(registration, scope);
    for (int i = 0; i < count; ++i) {
        if (scope[i] == registration.hash || scope[i] == scope[(i + 1) % count]) {
            refuse(table, "The columns of the scope and the fingerprint must be different columns.", nullptr);
        }
    }
    check_writable(table, registration.hash);
    for (int i = 0; i < count; ++i) {
        check_writable(table, scope[i]);
    }
    if (has_write_rules(table)) {
        refuse(table, "It has a rule for INSERT or UPDATE.", "Use a trigger instead of the rule.");
    }
    return protecting_index(table, scope, count);
}

} // namespace idem::pg
