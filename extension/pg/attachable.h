#pragma once

#include "binding.h"
#include "registry.h"

#include "pg.h"

namespace idem::pg {

/// Write the scope's columns to `columns`, in the order tenant, operation (where a column holds it), key; their count.
int scope_of(const Registration &registration, AttrNumber *columns);

/// Make sure that `target` is a table that can be attached, or that its partitions can. Server code. Raises 42P01 for
/// what does not exist, 42809 for a view, a foreign table, a partition or anything else that is no table, 42501 for a
/// system catalog, 0A000 for a temporary table.
void check_kind(Oid target);

/// Make sure that an attached table has what calls need: the columns, and a unique index that protects exactly the
/// scope, whose OID comes back. Server code. Raises 55000, naming what is missing and the DDL that brings it.
Oid check_attachable(Relation table, const Registration &registration);

} // namespace idem::pg
