#pragma once

#include "ledger.h"

#include "pg.h"

namespace idem::pg {

/// The registry's name, in the schema of the extension.
inline constexpr char kRegistryName[] = "idem_tables";

/// What the registry says of an attached table. A column is a number, 0 where there is none.
struct Registration {
    AttrNumber tenant;
    AttrNumber operation;
    AttrNumber key;
    AttrNumber hash;
    AttrNumber id;
    text *fixed_operation; // null where a column holds the operation
    ArrayType *exclude;    // text[]
};

/// Look a table up; the values are copied to the current memory context. It sees what is committed now, whatever
/// snapshot the transaction has. Server code.
bool find_registration(const Home &home, Oid target, Registration &found);

} // namespace idem::pg
