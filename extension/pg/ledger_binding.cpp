#include "ledger_binding.h"

#include "direct.h"
#include "statements.h"

#include "pg.h"

namespace idem::pg {
namespace {

constexpr int kStatements = static_cast<int>(Statement::count);
constexpr int kBatchStatements = static_cast<int>(BatchStatement::count);

// The plans of one ledger; prepared when first used.
struct Plans {
    Oid relation;
    SchemaName schema;
    int users; // calls that are running, one inside the other
    SPIPlanPtr plans[kStatements + kBatchStatements];
};

Plans kept;

constexpr Oid kParameterTypes[kLedgerColumns] = {TEXTOID, UUIDOID, TEXTOID, TEXTOID,  BYTEAOID,      INT2OID,
                                                 INT8OID, TEXTOID, TEXTOID, JSONBOID, TIMESTAMPTZOID};

#define IDEM_COLUMNS                                                                                                   \
    "tenant_id, id, operation, idempotency_key, request_hash, hash_version, amount_minor, currency, order_ref, "       \
    "details, created_at"

#define IDEM_SCOPE_TARGET                                                                                              \
    "(tenant_id COLLATE pg_catalog.\"C\", operation COLLATE pg_catalog.\"C\","                                         \
    " idempotency_key COLLATE pg_catalog.\"C\")"

// The text of a statement; %s is the ledger.
const char *statement_text(Statement statement)
{
    switch (statement) {
    case Statement::insert_any:
        return "INSERT INTO %s (" IDEM_COLUMNS ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"
               " ON CONFLICT DO NOTHING";
    case Statement::insert_scope:
        return "INSERT INTO %s (" IDEM_COLUMNS ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"
               " ON CONFLICT " IDEM_SCOPE_TARGET " DO NOTHING";
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

#define IDEM_FOUND_COLUMNS                                                                                             \
    "b.place, t.id, t.request_hash, t.hash_version, t.created_at, t.tenant_id OPERATOR(pg_catalog.=) b.tenant_id"      \
    " AND t.operation OPERATOR(pg_catalog.=) b.operation"                                                              \
    " AND t.idempotency_key OPERATOR(pg_catalog.=) b.idempotency_key,"                                                 \
    " COALESCE(t.tenant_id OPERATOR(pg_catalog.=) b.tenant_id AND t.operation OPERATOR(pg_catalog.=) b.operation"      \
    " AND t.order_ref OPERATOR(pg_catalog.=) b.order_ref, false)"

#define IDEM_READ_COLUMNS "tenant_id, operation, idempotency_key, order_ref, id, request_hash, hash_version, created_at"

// The text of a batch's statement; the first argument is the ledger, the second one the schema. The rows are inserted
// in the order in which the function gives them: there is nothing in between that could change it. OFFSET keeps the
// planner from turning a look for each request into a scan of all rows that looks for a request.
const char *statement_text(BatchStatement statement)
{
    switch (statement) {
    case BatchStatement::insert_any:
        return "INSERT INTO %s (" IDEM_COLUMNS ") SELECT " IDEM_COLUMNS " FROM %s._idem_batch_rows()"
               " ON CONFLICT DO NOTHING RETURNING id";
    case BatchStatement::insert_scope:
        return "INSERT INTO %s (" IDEM_COLUMNS ") SELECT " IDEM_COLUMNS " FROM %s._idem_batch_rows()"
               " ON CONFLICT " IDEM_SCOPE_TARGET " DO NOTHING RETURNING id";
    case BatchStatement::fetch_scope:
        return "SELECT " IDEM_FOUND_COLUMNS " FROM %2$s._idem_batch_rows() b, LATERAL (SELECT " IDEM_READ_COLUMNS
               " FROM %1$s WHERE tenant_id OPERATOR(pg_catalog.=) b.tenant_id"
               " AND operation OPERATOR(pg_catalog.=) b.operation"
               " AND idempotency_key OPERATOR(pg_catalog.=) b.idempotency_key OFFSET 0) t";
    case BatchStatement::fetch_order:
        return "SELECT " IDEM_FOUND_COLUMNS " FROM %2$s._idem_batch_rows() b, LATERAL (SELECT " IDEM_READ_COLUMNS
               " FROM %1$s WHERE tenant_id OPERATOR(pg_catalog.=) b.tenant_id"
               " AND operation OPERATOR(pg_catalog.=) b.operation"
               " AND order_ref OPERATOR(pg_catalog.=) b.order_ref OFFSET 0) t";
    case BatchStatement::count:
        break;
    }
    pg_unreachable();
}

// Whether the plans are for this ledger and its name.
bool plans_fit(Oid relation)
{
    return kept.relation == relation && !kept.schema.changed();
}

// The plans of an outer call must outlive this one. Also where none is needed: what a call meets does not depend on how
// it writes.
void check_nesting(Oid relation)
{
    if (kept.users > 1 && !plans_fit(relation)) {
        ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                        errmsg("the ledger was replaced or renamed within a call on it")));
    }
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
    kept.relation = InvalidOid; // until all is known: what follows may fail
    kept.schema.note(get_rel_namespace(relation));
    kept.relation = relation;
}

} // namespace

LedgerBinding::LedgerBinding(const Ledger &ledger) : ledger_(ledger)
{
    table = ledger;
    columns = kLedgerColumns;
    constexpr LedgerColumn kScope[] = {kTenantId, kOperation, kIdempotencyKey};
    for (const LedgerColumn place : kScope) {
        scope[scope_columns] = {
            place, false, -1, ledger.numbers[place], F_TEXTEQ, C_COLLATION_OID, ledger.scope_keys[scope_columns]};
        ++scope_columns;
    }
    order_column = kOrderRef;
    order_index = ledger.order_index;
    id_column = kId;
    ++kept.users;
}

LedgerBinding::~LedgerBinding()
{
    --kept.users;
}

void LedgerBinding::check_kept() const
{
    check_nesting(table.relation);
    if (!plans_fit(table.relation)) {
        start_over(table.relation);
    }
}

// The ledger's name in a statement.
const char *LedgerBinding::source(bool fetches) const
{
    const char *name = quote_qualified_identifier(kept.schema.name(), kLedgerName);
    // Rows of inheritance children are not under the ledger's unique keys.
    return fetches && !table.partitioned ? psprintf("ONLY %s", name) : name;
}

SPIPlanPtr LedgerBinding::plan(Statement statement) const
{
    check_kept();
    SPIPlanPtr &plan = kept.plans[static_cast<int>(statement)];
    if (plan == nullptr) {
        const bool fetches = statement == Statement::fetch_scope || statement == Statement::fetch_order;
        plan = prepare(psprintf(statement_text(statement), source(fetches)), kLedgerColumns, kParameterTypes);
    }
    return plan;
}

SPIPlanPtr LedgerBinding::plan(BatchStatement statement) const
{
    check_kept();
    SPIPlanPtr &plan = kept.plans[kStatements + static_cast<int>(statement)];
    if (plan == nullptr) {
        const bool fetches = statement == BatchStatement::fetch_scope || statement == BatchStatement::fetch_order;
        plan = prepare(psprintf(statement_text(statement), source(fetches), quote_identifier(kept.schema.name())), 0,
                       nullptr);
    }
    return plan;
}

void LedgerBinding::read(HeapTuple tuple, TupleDesc descriptor, Row &row) const
{
    heap_deform_tuple(tuple, descriptor, row.values, row.nulls);
}

void LedgerBinding::read_stored(HeapTuple tuple, TupleDesc descriptor, Row &row) const
{
    auto *values = static_cast<Datum *>(palloc(descriptor->natts * sizeof(Datum)));
    auto *nulls = static_cast<bool *>(palloc(descriptor->natts * sizeof(bool)));
    heap_deform_tuple(tuple, descriptor, values, nulls);
    for (int place = 0; place < kLedgerColumns; ++place) {
        row.values[place] = values[ledger_.numbers[place] - 1];
        row.nulls[place] = nulls[ledger_.numbers[place] - 1];
    }
}

DirectResult LedgerBinding::claim_directly(const Row &row, Row &found) const
{
    check_nesting(table.relation);
    if (direct_write_declined(ledger_) != nullptr) {
        return {};
    }
    return idem::pg::claim_directly(ledger_, *this, row, found);
}

bool LedgerBinding::renamed() const
{
    return kept.schema.changed();
}

} // namespace idem::pg
