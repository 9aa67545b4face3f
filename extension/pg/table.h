#pragma once

#include "pg.h"

namespace idem::pg {

/// What a call must know of the table that it inserts into.
struct Table {
    Oid relation = InvalidOid;
    Oid schema = InvalidOid;
    bool partitioned = false;
    Oid scope_index = InvalidOid;    // unique on the columns of the scope
    bool further_unique = false;     // may have unique keys that a new row clashes on beside its own
    bool may_change_rows = false;    // may have BEFORE INSERT row triggers, which change or suppress a row
    bool insert_has_effects = false; // an insert that yields to a conflict may do something or fail before it yields
    bool plain_reads = false;        // what is stored is what a SELECT shows: no column is computed when it is read
    bool row_security = false;       // has policies, which may hide a row from who inserted it
};

/// The name of a table in SQL, qualified and quoted. Server code.
const char *qualified_name(Relation table);

/// Note what reading and inserting may do beside giving and storing a row, in the table or in its partitions, as far as
/// unique keys and defaults have no part in it. Server code.
void note_nature(Relation table, Table &facts);

/// Whether the table has a rule for INSERT or UPDATE, with which INSERT ... ON CONFLICT is not possible. Server code.
bool has_write_rules(Relation table);

/// Whether the table, or a partition of it, has BEFORE INSERT row triggers. Server code.
bool has_row_triggers(const Table &table);

/// Whether the current role has the privilege to read or write (ACL_SELECT, ACL_INSERT) the table, or at least a
/// column. Server code.
bool may_access(Oid relation, AclMode privilege);

/// Whether an index can clash with a new row that is sent without care for it: unique or an exclusion constraint.
inline bool may_clash(Relation index)
{
    return index->rd_index->indisunique || index->rd_index->indisexclusion;
}

/// The schema that a statement's text names. A schema, unlike a table, can be renamed while it is in use.
class SchemaName {
public:
    /// Take down the present name. Server code.
    void note(Oid schema);
    const char *name() const { return NameStr(name_); }
    /// Whether the schema has another name by now. Server code.
    bool changed();

private:
    Oid schema_;
    NameData name_;
    uint64 seen_; // changes of schemas when the name was last compared
};

/// Have the server report changes of schemas to this file; once per process.
void watch_schemas();

} // namespace idem::pg
