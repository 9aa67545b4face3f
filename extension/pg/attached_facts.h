#pragma once

#include "attached.h"

#include "pg.h"

namespace idem::pg {

/// Read all that a session keeps of the table whose OID stands in `attached`; it is locked. Raises 55000 where it is
/// not attached, or lacks what an attached table needs.
void read_attached(const Home &home, AttachedTable &attached);

} // namespace idem::pg
