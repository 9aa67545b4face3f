#include "ledger.h"

#include "boundary.h"

#include "pg.h"
#include "version.h"

extern "C" {
#pragma GCC visibility push(default)
PG_FUNCTION_INFO_V1(idem_check_ledger);
#pragma GCC visibility pop
}

namespace idem::pg {
namespace {

Ledger ledger;         // a database has one extension and so at most one ledger
bool verified = false; // cleared when the server reports a change
uint64 changes = 0;    // of the ledger, as reported by the server

struct Column {
    const char *name;
    Oid type;
    bool c_collation; // must be COLLATE "C"
    bool not_null;
};

constexpr Column kColumns[kLedgerColumns] = {
    {"tenant_id", TEXTOID, true, true},          {"id", UUIDOID, false, true},
    {"operation", TEXTOID, true, true},          {"idempotency_key", TEXTOID, true, true},
    {"request_hash", BYTEAOID, false, true},     {"hash_version", INT2OID, false, true},
    {"amount_minor", INT8OID, false, true},      {"currency", TEXTOID, true, true},
    {"order_ref", TEXTOID, true, false},         {"details", JSONBOID, false, true},
    {"created_at", TIMESTAMPTZOID, false, true},
};

struct UniqueKey {
    const char *columns[3];
    const char *hint; // the DDL that brings it, less the name of the table
};

constexpr UniqueKey kScopeKey = {{"tenant_id", "operation", "idempotency_key"},
                                 "ADD UNIQUE (tenant_id, operation, idempotency_key)"};
constexpr UniqueKey kOrderKey = {{"tenant_id", "operation", "order_ref"},
                                 "ADD UNIQUE (tenant_id, operation, order_ref)"};

void refuse(Relation table, const char *detail, const char *hint = nullptr)
{
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("table %s cannot serve as the ledger", qualified_name(table)),
                    errdetail_internal("%s", detail), hint != nullptr ? errhint("%s", hint) : 0));
}

// Whoever owns the table can run code as those who write to it (triggers), so that a planted one must not be used.
void check_owner(Relation table, const Home &home)
{
    const Oid owner = table->rd_rel->relowner;
    if (owner != home.owner && !owns_schema(owner, home.schema)) {
        refuse(table, "Its owner owns neither the extension nor the schema.",
               "Inspect the table; if it is the right one, give it to the owner of the extension.");
    }
}

void check_columns(Relation table)
{
    for (int place = 0; place < kLedgerColumns; ++place) {
        const Column &column = kColumns[place];
        const AttrNumber number = get_attnum(RelationGetRelid(table), column.name);
        if (number == InvalidAttrNumber) {
            refuse(table, psprintf("Column %s is missing.", column.name));
        }
        const FormData_pg_attribute *attribute = TupleDescAttr(RelationGetDescr(table), number - 1);
        if (attribute->atttypid != column.type) {
            refuse(table, psprintf("Column %s must be of type %s.", column.name, format_type_be(column.type)));
        }
        if (column.c_collation && attribute->attcollation != C_COLLATION_OID) {
            refuse(table, psprintf("Column %s must have the collation \"C\".", column.name));
        }
        if (column.not_null && !attribute->attnotnull) {
            refuse(table, psprintf("Column %s must be NOT NULL.", column.name));
        }
        ledger.numbers[place] = number;
    }
}

// Whether the index key holds exactly the columns of `key`, in any order, compared byte for byte.
bool has_columns(Relation index, const UniqueKey &key)
{
    if (IndexRelationGetNumberOfKeyAttributes(index) != static_cast<int>(lengthof(key.columns))) {
        return false;
    }
    for (const char *column : key.columns) {
        const AttrNumber number = get_attnum(index->rd_index->indrelid, column);
        bool found = false;
        for (size_t i = 0; i < lengthof(key.columns); ++i) {
            found =
                found || (index->rd_index->indkey.values[i] == number && index->rd_indcollation[i] == C_COLLATION_OID);
        }
        if (!found) {
            return false;
        }
    }
    return true;
}

// Whether the index leaves out no row with an order_ref: no predicate, or just "order_ref IS NOT NULL".
bool covers_every_order(Relation index)
{
    List *predicate = RelationGetIndexPredicate(index);
    if (predicate == NIL) {
        return true;
    }
    const auto *test = static_cast<const NullTest *>(linitial(predicate));
    if (list_length(predicate) != 1 || !IsA(test, NullTest) || test->nulltesttype != IS_NOT_NULL ||
        !IsA(test->arg, Var)) {
        return false;
    }
    return reinterpret_cast<const Var *>(test->arg)->varattno == get_attnum(index->rd_index->indrelid, "order_ref");
}

// Whether a new row, whose id is unique by itself, can never clash on this index.
bool holds_the_id(Relation index)
{
    const AttrNumber id = get_attnum(index->rd_index->indrelid, "id");
    for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); ++i) {
        if (index->rd_index->indkey.values[i] == id) {
            return true;
        }
    }
    return false;
}

// Note where an index that protects the ledger has the columns tenant_id, operation and `third`.
void note_keys(Oid protecting, LedgerColumn third, int *keys)
{
    const LedgerColumn columns[] = {kTenantId, kOperation, third};
    Relation index = index_open(protecting, AccessShareLock);
    for (size_t i = 0; i < lengthof(columns); ++i) {
        keys[i] = 0;
        while (index->rd_index->indkey.values[keys[i]] != ledger.numbers[columns[i]]) {
            ++keys[i];
        }
    }
    index_close(index, NoLock);
}

// Look for the unique indexes that protect the ledger, and for others that a new row may clash on.
void check_indexes(Relation table)
{
    Oid scope_index = InvalidOid;
    Oid order_index = InvalidOid;
    bool further_unique = ledger.partitioned; // a partition may have unique indexes of its own
    ListCell *cell;
    List *indexes = RelationGetIndexList(table);
    foreach (cell, indexes) {
        Relation index = index_open(lfirst_oid(cell), AccessShareLock);
        const FormData_pg_index *form = index->rd_index;
        const bool protects = form->indisunique && form->indisvalid && form->indisready && form->indimmediate;
        if (protects && has_columns(index, kScopeKey) && RelationGetIndexPredicate(index) == NIL) {
            scope_index = lfirst_oid(cell);
        } else if (protects && has_columns(index, kOrderKey) && covers_every_order(index) &&
                   !form->indnullsnotdistinct) {
            order_index = lfirst_oid(cell);
        } else if (may_clash(index)) {
            if (!form->indimmediate) { // the insert could not yield to a twin that clashes on it
                refuse(table, psprintf("Constraint %s is deferrable.", RelationGetRelationName(index)),
                       "Make the constraint NOT DEFERRABLE.");
            }
            further_unique = further_unique || form->indisexclusion || !holds_the_id(index);
        }
        index_close(index, NoLock);
    }
    list_free(indexes);
    if (!OidIsValid(scope_index) || !OidIsValid(order_index)) {
        const UniqueKey &key = OidIsValid(scope_index) ? kOrderKey : kScopeKey;
        refuse(table,
               psprintf("A valid, immediate unique index on (%s, %s, %s) is missing.", key.columns[0], key.columns[1],
                        key.columns[2]),
               psprintf("ALTER TABLE %s %s;", qualified_name(table), key.hint));
    }
    ledger.scope_index = scope_index;
    ledger.order_index = order_index;
    note_keys(scope_index, kIdempotencyKey, ledger.scope_keys);
    note_keys(order_index, kOrderRef, ledger.order_keys);
    ledger.further_unique = further_unique;
}

// Whether the table has more columns than a ledger needs.
bool has_further_columns(Relation table)
{
    size_t columns = 0;
    for (int i = 0; i < RelationGetNumberOfAttributes(table); ++i) {
        columns += TupleDescAttr(RelationGetDescr(table), i)->attisdropped ? 0 : 1;
    }
    return columns > lengthof(kColumns);
}

void forget()
{
    verified = false;
    ++changes;
}

void forget_relation(Datum, Oid relation)
{
    if (relation == ledger.relation || !OidIsValid(relation)) {
        forget();
    }
}

// Who owns a schema, who is a member of whom and who is a superuser counts in check_owner().
void forget_owner(Datum, int, uint32)
{
    forget();
}

// Verify the locked table; false where it is no longer the one of that name, as after a wait for who replaced it.
bool verify(Oid relation, const Home &home)
{
    if (get_relname_relid(kLedgerName, home.schema) != relation) {
        return false;
    }
    Relation table = relation_open(relation, NoLock);
    if (table->rd_rel->relkind != RELKIND_RELATION && table->rd_rel->relkind != RELKIND_PARTITIONED_TABLE) {
        refuse(table, "It is not a table.");
    }
    ledger.relation = relation;
    ledger.partitioned = table->rd_rel->relkind == RELKIND_PARTITIONED_TABLE;
    verified = false;
    const uint64 seen = changes;
    check_owner(table, home);
    check_columns(table);
    if (has_write_rules(table)) {
        refuse(table, "It has a rule for INSERT or UPDATE.", "Use a trigger instead of the rule.");
    }
    check_indexes(table);
    note_nature(table, ledger);
    // Further columns have further defaults; further unique keys may have expressions.
    ledger.insert_has_effects = ledger.insert_has_effects || ledger.further_unique || has_further_columns(table);
    ledger.path = find_write_path(table, ledger);
    verified = seen == changes; // a change that arrived meanwhile is looked at by the next call
    relation_close(table, NoLock);
    return true;
}

} // namespace

Home home_of(Oid function)
{
    HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
    if (!HeapTupleIsValid(tuple)) {
        ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE), errmsg("extension idem was dropped")));
    }
    const auto *form = reinterpret_cast<Form_pg_proc>(GETSTRUCT(tuple));
    const Home home{form->pronamespace, form->proowner};
    ReleaseSysCache(tuple);
    return home;
}

Ledger open_ledger(const Home &home)
{
    for (;;) {
        const Oid relation = get_relname_relid(kLedgerName, home.schema);
        if (!OidIsValid(relation)) {
            const char *schema = get_namespace_name(home.schema); // NULL where the schema was dropped
            ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                            errmsg("ledger %s does not exist", quote_qualified_identifier(schema, kLedgerName)),
                            schema == nullptr ? 0
                                              : errhint("Create it with SELECT %s().",
                                                        quote_qualified_identifier(schema, "idem_create_ledger"))));
        }
        LockRelationOid(relation, RowExclusiveLock);
        if ((verified && ledger.relation == relation) || verify(relation, home)) {
            return ledger;
        }
        UnlockRelationOid(relation, RowExclusiveLock);
    }
}

void watch_ledger()
{
    CacheRegisterRelcacheCallback(forget_relation, 0);
    CacheRegisterSyscacheCallback(NAMESPACEOID, forget_owner, 0);
    CacheRegisterSyscacheCallback(AUTHOID, forget_owner, 0);
    CacheRegisterSyscacheCallback(AUTHMEMMEMROLE, forget_owner, 0);
}

} // namespace idem::pg

// Raise 55000 unless the ledger exists and can serve; for idem_create_ledger().
Datum idem_check_ledger(PG_FUNCTION_ARGS)
{
    return idem::pg::guarded([fcinfo] {
        idem::pg::backend([fcinfo] { idem::pg::open_ledger(idem::pg::home_of(fcinfo->flinfo->fn_oid)); });
        return Datum{};
    });
}
