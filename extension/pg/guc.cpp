#include "guc.h"

#include <climits>

#include "pg.h"

namespace idem::pg {

int busy_timeout = -1;

void define_settings()
{
    DefineCustomIntVariable("idem.busy_timeout",
                            "How long a call waits for another transaction that holds the same key or order_ref.",
                            "After that it fails with ID002. -1 waits without a limit of its own, 0 does not wait.",
                            &busy_timeout, -1, -1, INT_MAX, PGC_USERSET, GUC_UNIT_MS, nullptr, nullptr, nullptr);
    MarkGUCPrefixReserved("idem");
}

} // namespace idem::pg
