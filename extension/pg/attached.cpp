#include "attached.h"

#include "../core/errcodes.h"
#include "attachable.h"
#include "attached_facts.h"
#include "boundary.h"
#include "statements.h"

#include <memory>
#include <unordered_map>

#include "pg.h"
#include "version.h"

namespace idem::pg {
namespace {

// An application has a few inserts into a table; one that makes up new sets of columns must not fill the memory.
constexpr size_t kMaxColumnSets = 32;

std::unordered_map<Oid, std::unique_ptr<AttachedTable>> tables;

// Called in the middle of server code, also of our own: it only marks. A registry that is emptied or dropped takes all
// of its tables along.
void forget_relation(Datum, Oid relation)
{
    for (auto &[oid, table] : tables) {
        if (!OidIsValid(relation) || oid == relation || table->registry == relation) {
            table->stale = true;
        }
    }
}

void forget_domains(Datum, int, uint32)
{
    for (auto &[oid, table] : tables) {
        table->stale = table->stale || table->holds_domains;
    }
}

void free_plans(AttachedTable &table)
{
    for (auto &[given, set] : table.sets) {
        backend([&set = set] {
            for (SPIPlanPtr *plan : {&set.insert_any, &set.insert_scope}) {
                if (*plan != nullptr) {
                    SPI_freeplan(*plan);
                    *plan = nullptr;
                }
            }
        });
    }
    table.sets.clear();
}

void discard(AttachedTable &table)
{
    free_plans(table);
    backend([&table] {
        if (table.fetch != nullptr) {
            SPI_freeplan(table.fetch);
            table.fetch = nullptr;
        }
        MemoryContextDelete(table.memory);
    });
    tables.erase(table.table.relation);
}

[[noreturn]] void refuse_altered()
{
    throw core::Error(core::sqlstate::kNotInState, "the table was altered within a call on it");
}

// Whether the table is there, with its scope index and the columns that are known.
bool is_unaltered(const AttachedTable &attached)
{
    Relation table = try_relation_open(attached.table.relation, NoLock);
    if (table == nullptr) {
        return false;
    }
    TupleDesc columns = attached.columns;
    TupleDesc now = RelationGetDescr(table);
    bool same =
        SearchSysCacheExists1(RELOID, ObjectIdGetDatum(attached.table.scope_index)) && now->natts == columns->natts;
    for (int place = 0; same && place < columns->natts; ++place) {
        const FormData_pg_attribute *left = TupleDescAttr(now, place);
        const FormData_pg_attribute *right = TupleDescAttr(columns, place);
        same = left->atttypid == right->atttypid && left->attisdropped == right->attisdropped &&
               strcmp(NameStr(left->attname), NameStr(right->attname)) == 0;
    }
    relation_close(table, NoLock);
    return same;
}

// Whether values of the row may clash with another row's on this key. Twins give the same values; what the row leaves
// out differs where the default is fresh, and where NULLs are distinct.
bool may_clash_on(const AttachedTable &table, const FurtherKey &key, const std::vector<bool> &given)
{
    if (key.has_expression) {
        return true;
    }
    for (int i = 0; i < key.count; ++i) {
        const int place = key.columns[i] - 1;
        if (given[place]) {
            continue;
        }
        const DefaultKind kind = table.defaults[place];
        const bool is_null = kind == DefaultKind::null && !key.nulls_not_distinct;
        if (is_null || kind == DefaultKind::fresh || kind == DefaultKind::fresh_effects) {
            return false;
        }
    }
    return true;
}

ColumnSet &column_set(AttachedTable &table, const std::vector<bool> &given)
{
    const auto known = table.sets.find(given);
    if (known != table.sets.end()) {
        return known->second;
    }
    if (table.sets.size() >= kMaxColumnSets && table.users == 1) {
        free_plans(table);
    }
    ColumnSet set;
    // A partition may have unique indexes of its own, and a trigger may fill in what the row leaves out.
    set.further_unique = table.table.partitioned || (table.further_keys > 0 && table.table.may_change_rows);
    for (int i = 0; i < table.further_keys; ++i) {
        set.further_unique = set.further_unique || may_clash_on(table, table.further[i], given);
        set.has_effects = set.has_effects || table.further[i].has_expression; // which may fail
    }
    for (size_t place = 0; place < given.size(); ++place) {
        const DefaultKind kind = table.defaults[place];
        set.has_effects = set.has_effects ||
                          (!given[place] && (kind == DefaultKind::has_effects || kind == DefaultKind::fresh_effects));
    }
    return table.sets.emplace(given, set).first->second;
}

// Whether a row would fail for a NULL, which it does before it yields to a stored one.
bool lacks_value(const AttachedTable &table, const std::vector<bool> &given, const Row &row)
{
    for (int place = 0; place < table.columns->natts; ++place) {
        if (table.not_null[place] && row.nulls[place] && (given[place] || table.defaults[place] == DefaultKind::null)) {
            return true;
        }
    }
    return false;
}

// The text of an insert that gives values for the columns of a set.
const char *insert_text(const AttachedTable &table, const std::vector<bool> &given, const char *arbiter)
{
    StringInfoData text;
    StringInfoData parameters;
    initStringInfo(&text);
    initStringInfo(&parameters);
    appendStringInfo(&text, "INSERT INTO %s AS %s (", table.name, table.row_alias);
    const char *separator = "";
    for (int place = 0; place < table.columns->natts; ++place) {
        if (given[place]) {
            appendStringInfo(&text, "%s%s", separator,
                             quote_identifier(NameStr(TupleDescAttr(table.columns, place)->attname)));
            appendStringInfo(&parameters, "%s$%d", separator, place + 1);
            separator = ", ";
        }
    }
    appendStringInfo(&text, ") VALUES (%s) ON CONFLICT %sDO NOTHING RETURNING %s", parameters.data, arbiter,
                     table.row_alias);
    return text.data;
}

// The scope as the target of ON CONFLICT, with the index's collations: a clash on another index of the same columns is
// one on a further key.
const char *scope_arbiter(const AttachedTable &table)
{
    StringInfoData text;
    initStringInfo(&text);
    for (int i = 0; i < table.scope_columns; ++i) {
        appendStringInfo(&text, "%s%s%s", i == 0 ? "(" : ", ",
                         quote_identifier(NameStr(TupleDescAttr(table.columns, table.scope[i].place)->attname)),
                         table.scope_collations[i]);
    }
    appendStringInfoString(&text, ") ");
    return text.data;
}

// Rows of inheritance children are not under the table's unique keys.
const char *fetch_text(const AttachedTable &table)
{
    StringInfoData text;
    initStringInfo(&text);
    appendStringInfo(&text, "SELECT %s FROM %s%s AS %s WHERE ", table.row_alias, table.table.partitioned ? "" : "ONLY ",
                     table.name, table.row_alias);
    for (int i = 0; i < table.scope_columns; ++i) {
        const int place = table.scope[i].place;
        appendStringInfo(&text, "%s%s.%s %s $%d", i == 0 ? "" : " AND ", table.row_alias,
                         quote_identifier(NameStr(TupleDescAttr(table.columns, place)->attname)),
                         table.scope_operators[i], place + 1);
    }
    return text.data;
}

} // namespace

AttachedTable &open_attached(const Home &home, Oid target)
{
    const auto known = tables.find(target);
    const bool checked = known != tables.end() && !known->second->stale;
    backend([target, checked] {
        if (!checked) {
            check_kind(target);
        }
        if (!may_access(target, ACL_INSERT)) { // before the lock, so that nobody holds up a table that is not his
            aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TABLE, get_rel_name(target));
        }
        LockRelationOid(target, RowExclusiveLock);
    });
    if (known != tables.end()) {
        AttachedTable &table = *known->second;
        if (!table.stale && !backend([&table] { return table.schema.changed(); })) {
            return table;
        }
        if (table.users > 0) {
            refuse_altered();
        }
        discard(table);
    }
    backend([target] { check_kind(target); }); // it may have been dropped before it was locked
    auto fresh = std::make_unique<AttachedTable>();
    AttachedTable &table = *fresh;
    table.table.relation = target;
    // Known from here on, so that a change which is reported meanwhile is not missed.
    tables.emplace(target, std::move(fresh));
    try {
        read_attached(home, table);
    } catch (...) {
        tables.erase(target);
        throw;
    }
    return table;
}

void AttachedTable::deform(Datum whole, Row &row) const
{
    HeapTupleHeader header = DatumGetHeapTupleHeader(whole);
    HeapTupleData tuple{};
    tuple.t_len = HeapTupleHeaderGetDatumLength(header);
    tuple.t_data = header;
    heap_deform_tuple(&tuple, columns, row.values, row.nulls);
}

void check_unaltered(const AttachedTable &table)
{
    if (table.stale && !backend([&table] { return is_unaltered(table); })) {
        refuse_altered();
    }
}

AttachedBinding::AttachedBinding(AttachedTable &attached, const std::vector<bool> &given, const Row &row)
    : attached_(attached), given_(given), set_(column_set(attached, given))
{
    table = attached.table;
    table.further_unique = set_.further_unique;
    table.insert_has_effects = table.insert_has_effects || set_.has_effects || lacks_value(attached, given, row);
    columns = attached.columns->natts;
    scope_columns = attached.scope_columns;
    std::copy_n(attached.scope, scope_columns, scope);
}

SPIPlanPtr AttachedBinding::plan(Statement statement) const
{
    const bool any = statement == Statement::insert_any;
    const bool fetches = statement == Statement::fetch_scope;
    SPIPlanPtr &plan = fetches ? attached_.fetch : any ? set_.insert_any : set_.insert_scope;
    if (plan == nullptr) {
        const char *text =
            fetches ? fetch_text(attached_) : insert_text(attached_, given_, any ? "" : scope_arbiter(attached_));
        plan = prepare(text, columns, attached_.types);
    }
    return plan;
}

void AttachedBinding::read(HeapTuple tuple, TupleDesc descriptor, Row &row) const
{
    bool null = false;
    attached_.deform(heap_getattr(tuple, 1, descriptor, &null), row);
}

void AttachedBinding::read_stored(HeapTuple tuple, TupleDesc descriptor, Row &row) const
{
    heap_deform_tuple(tuple, descriptor, row.values, row.nulls);
}

bool AttachedBinding::renamed() const
{
    return attached_.schema.changed();
}

void watch_attached()
{
    CacheRegisterRelcacheCallback(forget_relation, 0);
    CacheRegisterSyscacheCallback(TYPEOID, forget_domains, 0);
}

} // namespace idem::pg
