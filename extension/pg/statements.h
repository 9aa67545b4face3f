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

/// Held while a row is fetched: the plan is made for the index, whenever that happens. One made while the table was
/// small would scan all of it and keep doing so while the table grows; under SERIALIZABLE the scan would also conflict
/// with every writer. Never held while triggers run, whose settings of the same name it would spoil.
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
