#pragma once

#include "ledger.h"

#include "pg.h"

namespace idem::pg {

/// The ledger's columns in the order of the table, which is that of the insert statements' parameters and of the rows
/// that come back: a select of all columns in their order needs no projection.
enum RowColumn {
    kTenantId,
    kId,
    kOperation,
    kIdempotencyKey,
    kRequestHash,
    kHashVersion,
    kAmountMinor,
    kCurrency,
    kOrderRef,
    kDetails,
    kCreatedAt,
    kRowColumns
};

/// One row of the ledger; the values live in the current SPI context.
struct Row {
    Datum values[kRowColumns];
    bool nulls[kRowColumns];
};

enum class Statement {
    insert_any,   // any unique conflict means "not inserted"
    insert_scope, // so does a conflict on the scope; another one raises 23505
    fetch_scope,
    fetch_order,
    count
};

/// Run a statement on the ledger with the values of `row`. Returns whether it inserted or found a row; a found one is
/// put into `result`. Its plan is made once per backend. Needs an SPI connection; sees what is committed now (READ
/// COMMITTED). Server code.
bool run_statement(const Ledger &ledger, Statement statement, const Row &row, Row &result);

/// Held while statements run: a trigger on the ledger may call idem again, and plans in use must not be freed under it.
class PlanUse {
public:
    PlanUse();
    ~PlanUse();
    PlanUse(const PlanUse &) = delete;
    PlanUse &operator=(const PlanUse &) = delete;
};

/// Turns enable_seqscan off while it lives, without the cost of a setting; only where no code of a user runs meanwhile.
class IndexScans {
public:
    IndexScans();
    ~IndexScans();
    IndexScans(const IndexScans &) = delete;
    IndexScans &operator=(const IndexScans &) = delete;

private:
    bool seqscan_; // the session's enable_seqscan
};

/// Have the server report a renamed schema, which the kept plans name; once per process.
void watch_schemas();

} // namespace idem::pg
