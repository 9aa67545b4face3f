#pragma once

// What differs between the server's major versions; behind pg.h.

#include "pg.h"

/// What makes a library one that the server loads. Since release 18 the server can tell its name and version, too.
#if PG_VERSION_NUM >= 180000
#define IDEM_MODULE_MAGIC PG_MODULE_MAGIC_EXT(.name = "idem", .version = IDEM_VERSION)
#else
#define IDEM_MODULE_MAGIC PG_MODULE_MAGIC
#endif

namespace idem::pg {

/// Whether the role owns the schema, by itself, as a member of the owner, or as a superuser.
inline bool owns_schema(Oid role, Oid schema)
{
#if PG_VERSION_NUM >= 160000
    return object_ownercheck(NamespaceRelationId, schema, role);
#else
    return pg_namespace_ownercheck(schema, role);
#endif
}

/// Whether the role has USAGE on the schema, without which no statement of it can name what is inside.
inline bool may_use_schema(Oid role, Oid schema)
{
#if PG_VERSION_NUM >= 160000
    return object_aclcheck(NamespaceRelationId, schema, role, ACL_USAGE) == ACLCHECK_OK;
#else
    return pg_namespace_aclcheck(schema, role, ACL_USAGE) == ACLCHECK_OK;
#endif
}

/// Start an index scan with so many keys, to be given by index_rescan().
inline IndexScanDesc begin_index_scan(Relation table, Relation index, Snapshot snapshot, int keys)
{
#if PG_VERSION_NUM >= 180000
    return index_beginscan(table, index, snapshot, nullptr, keys, 0);
#else
    return index_beginscan(table, index, snapshot, keys, 0);
#endif
}

/// All settings that the server knows.
struct Settings {
    config_generic **all;
    int count;
};
inline Settings known_settings()
{
#if PG_VERSION_NUM >= 160000
    Settings settings{};
    settings.all = get_guc_variables(&settings.count);
    return settings;
#else
    return {get_guc_variables(), GetNumConfigOptions()};
#endif
}

/// Call `walker` for each part of the expression below `node`, until it returns true.
inline bool walk_expression(Node *node, bool (*walker)(Node *, void *), void *context)
{
#if PG_VERSION_NUM >= 160000
    return expression_tree_walker(node, walker, context);
#else
    // The server declares the walker without its parameters.
    return expression_tree_walker(node, reinterpret_cast<bool (*)()>(reinterpret_cast<void (*)()>(walker)), context);
#endif
}

/// Whether the role owns the table, in the same sense.
inline bool owns_table(Oid role, Oid table)
{
#if PG_VERSION_NUM >= 160000
    return object_ownercheck(RelationRelationId, table, role);
#else
    return pg_class_ownercheck(table, role);
#endif
}

} // namespace idem::pg
