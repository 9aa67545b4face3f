#include "statements.h"

#include "boundary.h"

#include "pg.h"

namespace idem::pg {
namespace {

constexpr int kStatements = static_cast<int>(Statement::count);

// The plans of one ledger; prepared when first used.
struct Plans {
    Oid relation;
    Oid schema;
    NameData schema_name; // that the plans' texts hold
    bool schema_changed;  // since the name was last compared
    int users;            // calls that are running, one inside the other
    SPIPlanPtr plans[kStatements];
};

Plans kept;

constexpr Oid kParameterTypes[kRowColumns] = {TEXTOID, UUIDOID, TEXTOID, TEXTOID,  BYTEAOID,      INT2OID,
                                              INT8OID, TEXTOID, TEXTOID, JSONBOID, TIMESTAMPTZOID};

#define IDEM_COLUMNS                                                                                                   \
    "tenant_id, id, operation, idempotency_key, request_hash, hash_version, amount_minor, currency, order_ref, "       \
    "details, created_at"

// The text of a statement; %s is the ledger. Each takes a whole row as its parameters.
const char *statement_text(Statement statement)
{
    switch (statement) {
    case Statement::insert_any:
        return "INSERT INTO %s (" IDEM_COLUMNS ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"
               " ON CONFLICT DO NOTHING";
    case Statement::insert_scope:
        return "INSERT INTO %s (" IDEM_COLUMNS ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"
               " ON CONFLICT (tenant_id COLLATE pg_catalog.\"C\", operation COLLATE pg_catalog.\"C\","
               " idempotency_key COLLATE pg_catalog.\"C\") DO NOTHING";
    case Statement::fetch_scope:
        return "SELECT " IDEM_COLUMNS " FROM %s WHERE tenant_id OPERATOR(pg_catalog.=) $1"
               " AND operation OPERATOR(pg_catalog.=) $3 AND idempotency_key OPERATOR(pg_catalog.=) $4";
    case Statement::fetch_order:
        return "SELECT " IDEM_COLUMNS " FROM %s WHERE tenant_id OPERATOR(pg_catalog.=) $1"
               " AND operation OPERATOR(pg_catalog.=) $3 AND order_ref OPERATOR(pg_catalog.=) $9";
    case Statement::count:
        break;
    }
    pg_unreachable();
}

// Whether the schema has another name than in the plans' texts.
bool schema_renamed()
{
    if (kept.schema_changed) {
        const char *name = get_namespace_name(kept.schema);
        if (name == nullptr || strcmp(name, NameStr(kept.schema_name)) != 0) {
            return true;
        }
        kept.schema_changed = false;
    }
    return false;
}

// Free the plans, and have them prepared anew for this ledger.
void start_over(Oid relation)
{
    for (SPIPlanPtr &plan : kept.plans) {
        if (plan != nullptr) {
            SPI_freeplan(plan);
            plan = nullptr;
        }
    }
    kept.relation = relation;
    kept.schema = get_rel_namespace(relation);
    namestrcpy(&kept.schema_name, get_namespace_name(kept.schema));
    kept.schema_changed = false;
}

// The plan of a statement, prepared unless it is kept.
SPIPlanPtr plan_for(const Ledger &ledger, Statement statement)
{
    if (kept.relation != ledger.relation || schema_renamed()) {
        if (kept.users > 1) {
            ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                            errmsg("the ledger was replaced or renamed within a call on it")));
        }
        start_over(ledger.relation);
    }
    SPIPlanPtr &plan = kept.plans[static_cast<int>(statement)];
    if (plan == nullptr) {
        const char *table = quote_qualified_identifier(NameStr(kept.schema_name), kLedgerName);
        const bool fetches = statement == Statement::fetch_scope || statement == Statement::fetch_order;
        if (fetches && !ledger.partitioned) { // rows of inheritance children are not under the ledger's unique keys
            table = psprintf("ONLY %s", table);
        }
        Oid types[kRowColumns];
        memcpy(types, kParameterTypes, sizeof types);
        SPIPlanPtr prepared =
            SPI_prepare_cursor(psprintf(statement_text(statement), table), kRowColumns, types, CURSOR_OPT_GENERIC_PLAN);
        if (prepared == nullptr) {
            elog(ERROR, "could not prepare a statement on the ledger: %s", SPI_result_code_string(SPI_result));
        }
        SPI_keepplan(prepared);
        plan = prepared;
    }
    return plan;
}

void note_schema_change(Datum, int, uint32)
{
    kept.schema_changed = true;
}

} // namespace

PlanUse::PlanUse()
{
    ++kept.users;
}

PlanUse::~PlanUse()
{
    --kept.users;
}

IndexScans::IndexScans() : seqscan_(enable_seqscan)
{
    enable_seqscan = false;
}

IndexScans::~IndexScans()
{
    enable_seqscan = seqscan_;
}

bool run_statement(const Ledger &ledger, Statement statement, const Row &row, Row &result)
{
    SPIPlanPtr plan = plan_for(ledger, statement);
    Datum values[kRowColumns];
    char nulls[kRowColumns];
    for (int i = 0; i < kRowColumns; ++i) {
        values[i] = row.values[i];
        nulls[i] = row.nulls[i] ? 'n' : ' ';
    }
    const int code = SPI_execute_plan(plan, values, nulls, false, 1);
    if (code < 0) {
        elog(ERROR, "could not run a statement on the ledger: %s", SPI_result_code_string(code));
    }
    if (schema_renamed()) { // just now: an invalid plan was analysed anew, and may have met another table of that name
        ereport(ERROR,
                (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE), errmsg("the ledger's schema was renamed concurrently"),
                 errhint("Retry the whole transaction with the same key.")));
    }
    if (SPI_processed > 0 && SPI_tuptable != nullptr) {
        heap_deform_tuple(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, result.values, result.nulls);
    }
    return SPI_processed > 0;
}

void watch_schemas()
{
    CacheRegisterSyscacheCallback(NAMESPACEOID, note_schema_change, 0);
}

} // namespace idem::pg
