#include "boundary.h"
#include "stats.h"

#include "pg.h"

extern "C" {
#pragma GCC visibility push(default)
PG_FUNCTION_INFO_V1(idem_stats);
PG_FUNCTION_INFO_V1(idem_stats_reset);
#pragma GCC visibility pop
}

namespace idem::pg {
namespace {

// The columns of the result row; the counters stand between.
enum ResultColumn { kDatabase, kOperation, kFirstCounter, kSince = kFirstCounter + kCounters, kResultColumns };

constexpr char kOtherOperations[] = "(other)";

void check_counters()
{
    if (!counters_exist()) {
        ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                        errmsg("idem counts nothing unless the server preloads it"),
                        errhint("Add idem to shared_preload_libraries and restart the server.")));
    }
}

// The operation in the encoding of this database: octets that have no meaning here are shown as \xHH.
text *operation_text(const OperationStats &stats)
{
    if (stats.encoding == GetDatabaseEncoding()) {
        return cstring_to_text_with_len(stats.operation, static_cast<int>(stats.length));
    }
    StringInfoData shown;
    initStringInfo(&shown);
    for (size_t i = 0; i < stats.length; ++i) {
        if (IS_HIGHBIT_SET(stats.operation[i])) {
            appendStringInfo(&shown, "\\x%02x", static_cast<unsigned char>(stats.operation[i]));
        } else {
            appendStringInfoCharMacro(&shown, stats.operation[i]);
        }
    }
    return cstring_to_text_with_len(shown.data, shown.len);
}

// Server code.
void put_row(const ReturnSetInfo &result, const OperationStats &stats, TimestampTz since)
{
    Datum values[kResultColumns] = {};
    bool nulls[kResultColumns] = {};
    nulls[kDatabase] = !OidIsValid(stats.database);
    values[kDatabase] = ObjectIdGetDatum(stats.database);
    values[kOperation] = PointerGetDatum(nulls[kDatabase] ? cstring_to_text(kOtherOperations) : operation_text(stats));
    for (size_t i = 0; i < kCounters; ++i) {
        values[kFirstCounter + i] = Int64GetDatum(static_cast<int64>(stats.counts[i]));
    }
    const uint64 microseconds = stats.counts[static_cast<size_t>(Counter::wait_time)];
    values[kFirstCounter + static_cast<size_t>(Counter::wait_time)] =
        Float8GetDatum(static_cast<double>(microseconds) / 1000.0);
    values[kSince] = TimestampTzGetDatum(since);
    tuplestore_putvalues(result.setResult, result.setDesc, values, nulls);
}

Datum show_stats(FunctionCallInfo fcinfo)
{
    return backend([fcinfo]() -> Datum {
        check_counters();
        InitMaterializedSRF(fcinfo, 0);
        const auto *result = reinterpret_cast<const ReturnSetInfo *>(fcinfo->resultinfo);
        if (result->setDesc->natts != kResultColumns) {
            elog(ERROR, "unexpected result type of function %u", fcinfo->flinfo->fn_oid);
        }
        const Stats stats = read_stats();
        for (size_t i = 0; i < stats.size; ++i) {
            put_row(*result, stats.entries[i], stats.since);
        }
        return Datum{};
    });
}

Datum reset(FunctionCallInfo)
{
    return backend([]() -> Datum {
        check_counters();
        reset_stats();
        PG_RETURN_VOID();
    });
}

} // namespace
} // namespace idem::pg

// The counters, one row for each database and operation.
Datum idem_stats(PG_FUNCTION_ARGS)
{
    return idem::pg::entry<idem::pg::show_stats>(fcinfo);
}

// Set all counters to zero.
Datum idem_stats_reset(PG_FUNCTION_ARGS)
{
    return idem::pg::entry<idem::pg::reset>(fcinfo);
}
