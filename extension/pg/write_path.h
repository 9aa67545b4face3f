#pragma once

#include "pg.h"

namespace idem::pg {

struct Ledger;

/// An index that a direct write maintains.
struct DirectIndex {
    Oid relation;
    IndexInfo *info; // kept until the ledger is verified anew
    IndexUniqueCheck check;
    bool skips_null_orders; // holds only rows with an order_ref
};

inline constexpr int kMaxDirectIndexes = 8;

/// Whether the ledger is so plain that a call may write to it without a statement, and what it then maintains.
struct WritePath {
    const char *declined = nullptr; // what is in the way, as a sentence; nullptr: nothing
    int indexes = 0;
    DirectIndex index[kMaxDirectIndexes];
};

/// Look for what, in the table itself, is in the way of a direct write to the ledger, whose columns and indexes are
/// known. Server code.
WritePath find_write_path(Relation table, const Ledger &ledger);

/// What is in the way of a direct write in this session, with this role, now, as a sentence; nullptr: nothing. Server
/// code.
const char *direct_write_declined(const Ledger &ledger);

} // namespace idem::pg
