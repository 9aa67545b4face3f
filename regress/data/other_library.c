/*
 * Stands for libraries that must see what is written: with -DCITUS it has a setting of that name and tells of each
 * INSERT statement, as Citus plans them; else it tells of each check of INSERT privileges, as pgaudit does.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "fmgr.h"
#include "utils/guc.h"

PG_MODULE_MAGIC;

void _PG_init(void);

#ifdef CITUS

static int setting;
static ExecutorStart_hook_type next;

static void see(QueryDesc *query, int flags)
{
    if (query->operation == CMD_INSERT)
    {
        elog(NOTICE, "statement seen");
    }
    (next ? next : standard_ExecutorStart)(query, flags);
}

void _PG_init(void)
{
    DefineCustomIntVariable("citus.of_any_name", "a setting", NULL, &setting, 0, 0, 1, PGC_USERSET, 0, NULL, NULL, NULL);
    next = ExecutorStart_hook;
    ExecutorStart_hook = see;
}

#else

#if PG_VERSION_NUM >= 160000
static bool see(List *tables, List *infos, bool raise)
{
    ListCell *cell;
    foreach (cell, infos)
    {
        if (((RTEPermissionInfo *) lfirst(cell))->requiredPerms & ACL_INSERT)
#else
static bool see(List *tables, bool raise)
{
    ListCell *cell;
    foreach (cell, tables)
    {
        if (((RangeTblEntry *) lfirst(cell))->requiredPerms & ACL_INSERT)
#endif
        {
            elog(NOTICE, "check seen");
        }
    }
    return true;
}

void _PG_init(void)
{
    ExecutorCheckPerms_hook = see;
}

#endif
