#include "guc.h"

#include <climits>

#include "pg.h"

namespace idem::pg {

int busy_timeout = -1;
bool direct_path = true;
int log_outcomes = kLogNone;

namespace {

constexpr config_enum_entry kLogOutcomes[] = {
    {"none", kLogNone, false}, {"conflict", kLogConflict, false}, {"all", kLogAll, false}, {nullptr, 0, false}};

char *tenant_id; // read by policies, through current_setting

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
    DefineCustomStringVariable("idem.tenant_id", "The tenant whose rows may be seen and made under tenant isolation.",
                               "Empty: none. It has no effect before idem_enable_tenant_isolation() was called.",
                               &tenant_id, "", PGC_USERSET, 0, nullptr, nullptr, nullptr);
    DefineCustomBoolVariable("idem.direct_path", "Whether a call may write to a plain ledger without a statement.",
                             "It makes calls faster and changes nothing else.", &direct_path, true, PGC_USERSET, 0,
                             nullptr, nullptr, nullptr);
    MarkGUCPrefixReserved("idem");
}

} // namespace idem::pg
