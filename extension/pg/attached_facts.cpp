#include "attached_facts.h"

#include "arguments.h"
#include "attachable.h"
#include "boundary.h"
#include "encoding.h"
#include "registry.h"
#include "unique_key.h"

#include "pg.h"
#include "version.h"

namespace idem::pg {
namespace {

// What the functions in a default do.
struct DefaultEffects {
    bool fresh = false;
    bool effects = false;
};

// Look at one function. Of the server's own volatile ones, those that give a uuid make a value of its own for each row;
// those that give a number or a time (random, clock_timestamp) change nothing; others, as nextval, are not trusted.
bool note_function(Oid function, void *context)
{
    auto *found = static_cast<DefaultEffects *>(context);
    if (func_volatile(function) == PROVOLATILE_VOLATILE) {
        const Oid type = get_func_rettype(function);
        const bool own = function < FirstNormalObjectId;
        found->fresh = found->fresh || function == F_NEXTVAL || (own && type == UUIDOID);
        found->effects = found->effects || !own || (type != UUIDOID && type != FLOAT8OID && type != TIMESTAMPTZOID);
    }
    return false;
}

bool note_node(Node *node, void *context)
{
    if (node == nullptr) {
        return false;
    }
    if (IsA(node, NextValueExpr)) {
        *static_cast<DefaultEffects *>(context) = {true, true};
    }
    check_functions_in_node(node, note_function, context);
    return walk_expression(node, note_node, context);
}

DefaultKind default_kind(Relation table, int place)
{
    const FormData_pg_attribute *column = TupleDescAttr(RelationGetDescr(table), place);
    if (column->attisdropped || column->attgenerated != '\0') {
        return DefaultKind::same;
    }
    Node *expression = build_column_default(table, place + 1);
    if (expression == nullptr) {
        return DefaultKind::null;
    }
    DefaultEffects found;
    note_node(expression, &found);
    if (found.fresh) {
        return found.effects ? DefaultKind::fresh_effects : DefaultKind::fresh;
    }
    return found.effects ? DefaultKind::has_effects : DefaultKind::same;
}

// Note the unique keys beside the one that protects the scope.
void read_further_keys(Relation table, AttachedTable &attached)
{
    ListCell *cell;
    List *indexes = RelationGetIndexList(table);
    attached.further = static_cast<FurtherKey *>(palloc0((list_length(indexes) + 1) * sizeof(FurtherKey)));
    foreach (cell, indexes) {
        Relation index = index_open(lfirst_oid(cell), AccessShareLock);
        if (may_clash(index) && lfirst_oid(cell) != attached.table.scope_index) {
            FurtherKey &key = attached.further[attached.further_keys++];
            key.count = IndexRelationGetNumberOfKeyAttributes(index);
            key.nulls_not_distinct = index->rd_index->indnullsnotdistinct;
            key.has_expression = !index->rd_index->indisunique || index->rd_rel->relam != BTREE_AM_OID ||
                                 holds_column(index, InvalidAttrNumber);
            for (int i = 0; i < key.count; ++i) {
                key.columns[i] = index->rd_index->indkey.values[i];
            }
        }
        index_close(index, NoLock);
    }
}

// The tuple of a system cache; the caller releases it.
HeapTuple cached(int cache, Oid oid)
{
    HeapTuple tuple = SearchSysCache1(cache, ObjectIdGetDatum(oid));
    if (!HeapTupleIsValid(tuple)) {
        elog(ERROR, "cache lookup failed for object %u", oid);
    }
    return tuple;
}

// The collation of an index column as a clause; empty where its type has none.
const char *collate_clause(Oid collation)
{
    if (!OidIsValid(collation)) {
        return "";
    }
    HeapTuple tuple = cached(COLLOID, collation);
    const auto *form = reinterpret_cast<Form_pg_collation>(GETSTRUCT(tuple));
    const char *clause = psprintf(
        " COLLATE %s", quote_qualified_identifier(get_namespace_name(form->collnamespace), NameStr(form->collname)));
    ReleaseSysCache(tuple);
    return clause;
}

// The equality of an index column, as a statement has it between the table's column and a parameter; its function goes
// to `equals`.
const char *equality(Relation index, int key, Oid column_collation, Oid *equals)
{
    StringInfoData text;
    initStringInfo(&text);
    const Oid collation = index->rd_indcollation[key];
    if (collation != column_collation) {
        appendStringInfo(&text, "%s ", collate_clause(collation));
    }
    const Oid type = index->rd_opcintype[key];
    HeapTuple tuple = cached(OPEROID, get_opfamily_member(index->rd_opfamily[key], type, type, BTEqualStrategyNumber));
    const auto *form = reinterpret_cast<Form_pg_operator>(GETSTRUCT(tuple));
    appendStringInfo(&text, "OPERATOR(%s.%s)", quote_identifier(get_namespace_name(form->oprnamespace)),
                     NameStr(form->oprname));
    *equals = form->oprcode;
    ReleaseSysCache(tuple);
    return text.data;
}

// How the column number `i` of the scope is read from text and compared.
void read_scope_column(Relation index, int place, AttachedTable &attached, int i)
{
    const FormData_pg_attribute *column = TupleDescAttr(attached.columns, place);
    ScopeInput &input = attached.inputs[i];
    Oid function;
    getTypeInputInfo(column->atttypid, &function, &input.parameter);
    fmgr_info_cxt(function, &input.function, attached.memory);
    input.modifier = column->atttypmod;
    input.as_it_is = (column->atttypid == TEXTOID || column->atttypid == VARCHAROID) && column->atttypmod < 0;

    int key = 0;
    while (index->rd_index->indkey.values[key] != place + 1) {
        ++key;
    }
    attached.scope_collations[i] = collate_clause(index->rd_indcollation[key]);
    Oid equals;
    attached.scope_operators[i] = equality(index, key, column->attcollation, &equals);
    attached.scope[i] = {place,
                         column->attbyval,
                         column->attlen,
                         static_cast<AttrNumber>(place + 1),
                         equals,
                         index->rd_indcollation[key],
                         key};
}

// Whether values of the type hold rows of another type, which may be altered without the table.
bool holds_rows(Oid type)
{
    const Oid base = getBaseType(type);
    const Oid element = get_element_type(base);
    return OidIsValid(element) ? holds_rows(element) : type_is_rowtype(base);
}

// A name that no column has, for a row of the table.
const char *row_alias(TupleDesc columns)
{
    StringInfoData alias;
    initStringInfo(&alias);
    appendStringInfoString(&alias, "idem_row");
    for (int place = 0; place < columns->natts; ++place) {
        if (strcmp(NameStr(TupleDescAttr(columns, place)->attname), alias.data) == 0) {
            appendStringInfoChar(&alias, '_');
            place = -1; // compare with all again
        }
    }
    return alias.data;
}

Datum empty_row(TupleDesc columns)
{
    auto *values = static_cast<Datum *>(palloc0(columns->natts * sizeof(Datum)));
    auto *nulls = static_cast<bool *>(palloc(columns->natts * sizeof(bool)));
    memset(nulls, true, columns->natts * sizeof(bool));
    return HeapTupleGetDatum(heap_form_tuple(columns, values, nulls));
}

// Read what the server knows, into the current memory context.
void read_table(Relation table, const Registration &registration, AttachedTable &attached)
{
    attached.table.scope_index = check_attachable(table, registration);
    attached.table.partitioned = table->rd_rel->relkind == RELKIND_PARTITIONED_TABLE;
    note_nature(table, attached.table);
    attached.schema.note(RelationGetNamespace(table));
    attached.name = quote_qualified_identifier(attached.schema.name(), RelationGetRelationName(table));
    attached.columns = CreateTupleDescCopy(RelationGetDescr(table));
    attached.row_alias = row_alias(attached.columns);
    attached.tenant = registration.tenant - 1;
    attached.operation = registration.fixed_operation == nullptr ? registration.operation - 1 : -1;
    attached.key = registration.key - 1;
    attached.hash = registration.hash - 1;
    attached.id = registration.id - 1;

    const int natts = attached.columns->natts;
    auto *types = static_cast<Oid *>(palloc(natts * sizeof(Oid)));
    auto *defaults = static_cast<DefaultKind *>(palloc(natts * sizeof(DefaultKind)));
    auto *not_null = static_cast<bool *>(palloc(natts * sizeof(bool)));
    for (int place = 0; place < natts; ++place) {
        const FormData_pg_attribute *column = TupleDescAttr(attached.columns, place);
        types[place] = column->attisdropped ? INT4OID : column->atttypid;
        defaults[place] = default_kind(table, place);
        not_null[place] = TupleDescAttr(RelationGetDescr(table), place)->attnotnull; // which the copy has not
        attached.holds_rows = attached.holds_rows || holds_rows(types[place]);
        attached.holds_domains = attached.holds_domains || get_typtype(types[place]) == TYPTYPE_DOMAIN;
    }
    attached.types = types;
    attached.defaults = defaults;
    attached.not_null = not_null;
    read_further_keys(table, attached);

    AttrNumber scope[kMaxScope];
    attached.scope_columns = scope_of(registration, scope);
    Relation index = index_open(attached.table.scope_index, AccessShareLock);
    for (int i = 0; i < attached.scope_columns; ++i) {
        read_scope_column(index, scope[i] - 1, attached, i);
    }
    index_close(index, NoLock);

    const Oid type = table->rd_rel->reltype;
    set_up_function(&attached.populate, F_JSONB_POPULATE_RECORD, type, type, attached.memory);
    attached.json.set_up(attached.columns, attached.memory);
    attached.empty_row = empty_row(attached.columns);
}

// Read the server's part; gives the registration, which tells the rest.
Registration read_server(const Home &home, AttachedTable &attached)
{
    // Under the caller's context until all is read, so that an error leaves nothing behind.
    attached.memory = AllocSetContextCreate(CurrentMemoryContext, "idem attached table", ALLOCSET_SMALL_SIZES);
    MemoryContext caller = MemoryContextSwitchTo(attached.memory);
    Registration registration;
    const Oid relation = attached.table.relation;
    attached.registry = get_relname_relid(kRegistryName, home.schema);
    if (!find_registration(home, relation, registration)) {
        ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                        errmsg("table \"%s\" is not attached", get_rel_name(relation)),
                        errhint("Its owner attaches it with idem_attach().")));
    }
    Relation table = relation_open(relation, NoLock);
    read_table(table, registration, attached);
    relation_close(table, NoLock);
    MemoryContextSwitchTo(caller);
    return registration;
}

} // namespace

void read_attached(const Home &home, AttachedTable &attached)
{
    const Registration registration = backend([&] { return read_server(home, attached); });
    if (registration.fixed_operation != nullptr) {
        attached.fixed_operation = backend([&] { return text_octets(PointerGetDatum(registration.fixed_operation)); });
    }
    attached.exclusions = core::Exclusions(text_list(registration.exclude));
    for (int place = 0; place < attached.columns->natts; ++place) {
        const FormData_pg_attribute *column = TupleDescAttr(attached.columns, place);
        if (!column->attisdropped) {
            attached.places.emplace(to_utf8(NameStr(column->attname)), place);
        }
    }
    backend([&attached] { MemoryContextSetParent(attached.memory, CacheMemoryContext); });
}

} // namespace idem::pg
