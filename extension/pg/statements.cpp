#include "statements.h"

#include "pg.h"

namespace idem::pg {

Row make_row(int columns)
{
    Row row{};
    row.values = static_cast<Datum *>(palloc0(columns * sizeof(Datum)));
    row.nulls = static_cast<bool *>(palloc(columns * sizeof(bool)));
    memset(row.nulls, true, columns * sizeof(bool));
    return row;
}

IndexScans::IndexScans() : seqscan_(enable_seqscan)
{
    enable_seqscan = false;
}

IndexScans::~IndexScans()
{
    enable_seqscan = seqscan_;
}

SPIPlanPtr prepare(const char *text, int columns, const Oid *types)
{
    SPIPlanPtr plan = SPI_prepare_cursor(text, columns, const_cast<Oid *>(types), CURSOR_OPT_GENERIC_PLAN);
    if (plan == nullptr) {
        elog(ERROR, "could not prepare a statement: %s", SPI_result_code_string(SPI_result));
    }
    SPI_keepplan(plan);
    return plan;
}

void execute(const Binding &binding, SPIPlanPtr plan, Datum *values, const char *nulls, long limit)
{
    const int code = SPI_execute_plan(plan, values, nulls, false, limit);
    if (code < 0) {
        elog(ERROR, "could not run a statement: %s", SPI_result_code_string(code));
    }
    if (binding.renamed()) { // just now: an invalid plan was analysed anew, and may have met another table of that name
        ereport(ERROR,
                (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE), errmsg("the table's schema was renamed concurrently"),
                 errhint("Retry the whole transaction with the same key.")));
    }
}

bool run_statement(const Binding &binding, Statement statement, const Row &row, Row &found)
{
    SPIPlanPtr plan = binding.plan(statement);
    auto *nulls = static_cast<char *>(palloc(binding.columns));
    for (int i = 0; i < binding.columns; ++i) {
        nulls[i] = row.nulls[i] ? 'n' : ' ';
    }
    // An insert with RETURNING that stops at its row would not come to its AFTER triggers for each statement.
    const bool fetches = statement == Statement::fetch_scope || statement == Statement::fetch_order;
    execute(binding, plan, row.values, nulls, fetches ? 1 : 0);
    if (SPI_processed > 0 && SPI_tuptable != nullptr) {
        binding.read(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, found);
    }
    return SPI_processed > 0;
}

} // namespace idem::pg
