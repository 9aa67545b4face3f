#include "batch_rows.h"

#include "boundary.h"
#include "ledger.h"
#include "ledger_request.h"

#include <cstring>
#include <utility>

#include "pg.h"

extern "C" {
#pragma GCC visibility push(default)
PG_FUNCTION_INFO_V1(idem_batch_rows);
#pragma GCC visibility pop
}

namespace idem::pg {
namespace {

// The columns of the function: the place of the entry, then those of the ledger.
constexpr int kColumns = 1 + kLedgerColumns;

const BatchRows *waiting = nullptr; // for the statement that runs to ask for them

Datum batch_rows(FunctionCallInfo fcinfo)
{
    return backend([fcinfo]() -> Datum {
        BatchRows::give(fcinfo);
        return Datum{};
    });
}

} // namespace

BatchRows::BatchRows(const std::vector<BatchEntry> &entries, const std::vector<uint32_t> &places, Shape shape)
    : entries_(entries), places_(places), shape_(shape), outer_(waiting)
{
    waiting = this;
}

BatchRows::~BatchRows()
{
    waiting = outer_;
}

void BatchRows::give(FunctionCallInfo fcinfo)
{
    const BatchRows *rows = std::exchange(waiting, nullptr);
    if (rows == nullptr) {
        ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                        errmsg("_idem_batch_rows() serves only the statements of a batch")));
    }
    InitMaterializedSRF(fcinfo, 0);
    const auto *result = reinterpret_cast<const ReturnSetInfo *>(fcinfo->resultinfo);
    if (result->setDesc->natts != kColumns) {
        elog(ERROR, "unexpected result type of function %u", fcinfo->flinfo->fn_oid);
    }
    rows->put(*result);
}

void BatchRows::put(const ReturnSetInfo &result) const
{
    MemoryContext scratch = AllocSetContextCreate(CurrentMemoryContext, "idem batch row", ALLOCSET_SMALL_SIZES);
    MemoryContext caller = MemoryContextSwitchTo(scratch);
    for (const uint32_t place : places_) {
        CHECK_FOR_INTERRUPTS();
        Datum values[kColumns];
        bool nulls[kColumns];
        Row row{values + 1, nulls + 1};
        const BatchEntry &entry = entries_[place];
        fill_ledger_row(row, entry.call, entry.hash, entry.id);
        if (shape_ == Shape::keys) {
            for (const LedgerColumn column :
                 {kId, kRequestHash, kHashVersion, kAmountMinor, kCurrency, kDetails, kCreatedAt}) {
                row.nulls[column] = true;
            }
        }
        values[0] = Int32GetDatum(static_cast<int32>(place));
        nulls[0] = false;
        tuplestore_putvalues(result.setResult, result.setDesc, values, nulls);
        MemoryContextReset(scratch);
    }
    MemoryContextSwitchTo(caller);
    MemoryContextDelete(scratch);
}

} // namespace idem::pg

// The rows of the batch that is being worked on.
Datum idem_batch_rows(PG_FUNCTION_ARGS)
{
    return idem::pg::entry<idem::pg::batch_rows>(fcinfo);
}
