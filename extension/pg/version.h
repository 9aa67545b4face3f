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

} // namespace idem::pg
