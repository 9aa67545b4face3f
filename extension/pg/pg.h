#pragma once

// The server's headers, in one place and always the last include: they define macros such as ERROR, INFO, Min, Max,
// snprintf and _, which no C++ header behind them would survive.
extern "C" {
#include "postgres.h"

#include "access/genam.h"        // index_open, systable_beginscan
#include "access/htup_details.h" // heap_form_tuple, heap_deform_tuple
#include "access/nbtree.h"       // BTEQUALIMAGE_PROC
#include "access/relation.h"     // relation_open
#include "access/table.h"        // table_open
#include "access/tableam.h"      // table_tuple_insert_speculative
#include "access/transam.h"      // FirstNormalObjectId
#include "access/xact.h"         // XactReadOnly, GetCurrentTransactionStartTimestamp
#include "access/xlog.h"         // RecoveryInProgress
#include "catalog/catalog.h"     // IsCatalogNamespace
#include "catalog/index.h"       // FormIndexDatum
#include "catalog/namespace.h"   // FindDefaultConversionProc
#include "catalog/pg_am.h"       // BTREE_AM_OID
#include "catalog/pg_collation.h"
#include "catalog/pg_enum.h"
#include "catalog/pg_index.h"
#include "catalog/pg_inherits.h" // find_all_inheritors
#include "catalog/pg_namespace.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h" // makeObjectName
#include "commands/trigger.h"
#include "common/hashfn.h"
#include "executor/executor.h" // ExecutorCheckPerms_hook
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h" // get_call_result_type
#include "mb/pg_wchar.h"
#include "miscadmin.h" // stack_is_too_deep, PreventCommandIfReadOnly
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h" // expression_tree_walker
#include "nodes/primnodes.h"
#include "optimizer/cost.h" // enable_seqscan
#include "port/atomics.h"
#include "rewrite/prs2lock.h"       // rules
#include "rewrite/rewriteHandler.h" // build_column_default
#include "storage/ipc.h"            // proc_exit_inprogress
#include "storage/lmgr.h"
#include "storage/lwlock.h"
#include "storage/proc.h" // MyProc
#include "storage/shmem.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datetime.h" // MAXDATELEN
#include "utils/datum.h"    // datum_image_eq
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/guc_tables.h" // config_generic
#include "utils/inval.h"
#include "utils/json.h" // JsonEncodeDateTime
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/numeric.h"
#include "utils/partcache.h" // RelationGetPartitionKey
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/snapmgr.h" // GetLatestSnapshot
#include "utils/syscache.h"
#include "utils/timeout.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"
#include "utils/typcache.h" // lookup_rowtype_tupdesc_copy
#include "utils/uuid.h"
}
