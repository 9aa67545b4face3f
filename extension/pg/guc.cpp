#include "guc.h"

#include <climits>

#include "pg.h"

namespace idem::pg {

int busy_timeout = -1;
int log_outcomes = kLogNone;

namespace {

constexpr config_enum_entry kLogOutcomes[] = {
    {"none", kLogNone, false}, {"conflict", kLogConflict, false}, {"all", kLogAll, false}, {nullptr, 0, false}};

} // namespace

void define_settings()
{
    DefineCustomIntVariable("idem.busy_timeout",
                            "How long a call waits for another transaction that holds the same key or order_ref.",
                            "After that it fails with ID002. -1 waits without a limit of its own, 0 does not wait.",
                            &busy_timeout, -1, -1, INT_MAX, PGC_USERSET, GUC_UNIT_MS, nullptr, nullptr, nullptr);
    // For superusers: an application shall neither flood the log nor hide from it.
    DefineCustomEnumVariable("idem.log_outcomes", "Which calls are told of in the server's log, one line each.",
                             "conflict: those that were refused because of another transaction; all: every call.",
                             &log_outcomes, kLogNone, kLogOutcomes, PGC_SUSET, 0, nullptr, nullptr, nullptr);
    MarkGUCPrefixReserved("idem");
}

} // namespace idem::pg
