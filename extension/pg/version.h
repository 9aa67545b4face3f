#pragma once

// What differs between the server's major versions; behind pg.h.

#include "pg.h"

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
