#pragma once

namespace idem::pg {

/// idem.busy_timeout in milliseconds: how long a call waits for another transaction that holds the same key or
/// order_ref; -1 waits as long as lock_timeout and statement_timeout allow.
extern int busy_timeout;

/// idem.log_outcomes: which calls the server's log tells of.
enum LogOutcomes { kLogNone, kLogConflict, kLogAll };
extern int log_outcomes;

/// idem.direct_path: whether a call may write to a plain ledger without a statement.
extern bool direct_path;

/// Define the settings; server code, called by _PG_init.
void define_settings();

} // namespace idem::pg
