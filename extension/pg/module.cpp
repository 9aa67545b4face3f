#include "../core/sha256.h"
#include "attached.h"
#include "boundary.h"
#include "guc.h"
#include "ledger.h"
#include "stats.h"
#include "table.h"
#include "version.h"

#include "pg.h"

extern "C" {
#pragma GCC visibility push(default)
IDEM_MODULE_MAGIC;
void _PG_init(void);
PG_FUNCTION_INFO_V1(idem_version);
#pragma GCC visibility pop
}

// Called once per process that loads the library; fails the load where SHA-256 is not to be had.
void _PG_init(void)
{
    idem::pg::guarded([] {
        idem::core::sha256({});
        idem::pg::backend([] {
            idem::pg::define_settings();
            idem::pg::watch_ledger();
            idem::pg::watch_attached();
            idem::pg::watch_schemas();
            if (process_shared_preload_libraries_in_progress) {
                idem::pg::request_counters();
            }
        });
    });
}

// The version of this library.
Datum idem_version(PG_FUNCTION_ARGS)
{
    (void)fcinfo;
    PG_RETURN_TEXT_P(cstring_to_text(IDEM_VERSION));
}
