#include "table.h"

#include "pg.h"

namespace idem::pg {
namespace {

uint64 schema_changes = 0; // as reported by the server

void note_schema_change(Datum, int, uint32)
{
    ++schema_changes;
}

} // namespace

const char *qualified_name(Relation table)
{
    return quote_qualified_identifier(get_namespace_name(RelationGetNamespace(table)), RelationGetRelationName(table));
}

void note_nature(Relation table, Table &facts)
{
    const TriggerDesc *triggers = table->trigdesc;
    const TupleConstr *constraints = RelationGetDescr(table)->constr;
    facts.may_change_rows = facts.partitioned || (triggers != nullptr && triggers->trig_insert_before_row);
    facts.row_security = table->rd_rel->relrowsecurity;
    facts.schema = RelationGetNamespace(table);
    facts.plain_reads = true;
    for (int i = 0; i < RelationGetNumberOfAttributes(table); ++i) {
        constexpr char kVirtual = 'v'; // since release 18
        facts.plain_reads = facts.plain_reads && TupleDescAttr(RelationGetDescr(table), i)->attgenerated != kVirtual;
    }
    // Policies and checks are looked at before the insert yields.
    facts.insert_has_effects =
        facts.may_change_rows || facts.row_security || (constraints != nullptr && constraints->num_check > 0) ||
        (triggers != nullptr && (triggers->trig_insert_before_statement || triggers->trig_insert_after_statement));
}

bool has_write_rules(Relation table)
{
    for (int i = 0; table->rd_rules != nullptr && i < table->rd_rules->numLocks; ++i) {
        const CmdType event = table->rd_rules->rules[i]->event;
        if (event == CMD_INSERT || event == CMD_UPDATE) {
            return true;
        }
    }
    return false;
}

bool may_access(Oid relation, AclMode privilege)
{
    const Oid role = GetUserId();
    return pg_class_aclcheck(relation, role, privilege) == ACLCHECK_OK ||
           pg_attribute_aclcheck_all(relation, role, privilege, ACLMASK_ANY) == ACLCHECK_OK;
}

bool has_row_triggers(const Table &table)
{
    ListCell *cell;
    List *tables = find_all_inheritors(table.relation, AccessShareLock, nullptr);
    foreach (cell, tables) {
        Relation part = relation_open(lfirst_oid(cell), NoLock);
        const bool has = part->trigdesc != nullptr && part->trigdesc->trig_insert_before_row;
        relation_close(part, NoLock);
        if (has) {
            return true;
        }
    }
    return false;
}

void SchemaName::note(Oid schema)
{
    const uint64 seen = schema_changes;
    const char *name = get_namespace_name(schema); // which may fail: then nothing is known as before
    namestrcpy(&name_, name);
    schema_ = schema;
    seen_ = seen;
}

bool SchemaName::changed()
{
    if (seen_ != schema_changes) {
        const uint64 seen = schema_changes; // before the look: a change that arrives with it counts as unseen
        const char *name = get_namespace_name(schema_);
        if (name == nullptr || strcmp(name, NameStr(name_)) != 0) {
            return true;
        }
        seen_ = seen;
    }
    return false;
}

void watch_schemas()
{
    CacheRegisterSyscacheCallback(NAMESPACEOID, note_schema_change, 0);
}

} // namespace idem::pg
