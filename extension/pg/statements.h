#pragma once

#include "binding.h"

#include "pg.h"

namespace idem::pg {

/// While one lives, plans are made as if sequential scans were switched off.
class IndexScans {
public:
    IndexScans();
    ~IndexScans();
    IndexScans(const IndexScans &) = delete;
    IndexScans &operator=(const IndexScans &) = delete;

private:
    bool seqscan_;
};

/// Prepare a statement with one parameter for each column of a row, and keep its plan. It may modify the tables that
/// it names. Server code.
SPIPlanPtr prepare(const char *text, int columns, const Oid *types);

/// Run a plan, of which SPI_tuptable then holds the rows; `limit` 0: all. Server code.
void execute(const Binding &binding, SPIPlanPtr plan, Datum *values, const char *nulls, long limit);

/// Run a statement with `row` as its parameters and the row that it returns, if any, in `found`. Tells whether a row
/// was inserted or found. Server code.
bool run_statement(const Binding &binding, Statement statement, const Row &row, Row &found);

} // namespace idem::pg
