#pragma once

#include "ledger.h"

#include "pg.h"

namespace idem::pg {

/// The ledger's columns in the order of the insert statements' parameters and of the rows that come back.
enum RowColumn {
    kTenantId,
    kOperation,
    kIdempotencyKey,
    kOrderRef,
    kId,
    kRequestHash,
    kHashVersion,
    kAmountMinor,
    kCurrency,
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

/// Run a statement on the ledger with the values of `row`. Returns whether there is a result row, and puts it into
/// `result`. Its plan is made once per backend. Needs an SPI connection; sees what is committed now (READ COMMITTED).
/// Server code.
bool run_statement(const Ledger &ledger, Statement statement, const Row &row, Row &result);

/// Have the server report a renamed schema, which the kept plans name; once per process.
void watch_schemas();

} // namespace idem::pg
