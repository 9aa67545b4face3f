#pragma once

#include "binding.h"

namespace idem::pg {

/// A row can vanish between conflict and read only when somebody deletes it just then; often in a row is no accident.
inline constexpr int kRounds = 6;

/// Insert `row`, or find the row that stands in its way, which is then in `found`; an inserted row comes back in
/// `found` as it was stored. Waits for a concurrent transaction that inserts the same scope or order_ref. Needs an SPI
/// connection. Raises ID002 where idem.busy_timeout ends the wait, 40001 where the row keeps vanishing, 42501 where row
/// security hides it, 55000 where a trigger suppresses the insert or changes the key, XX001 where the index returns a
/// row of another key, and what the statements raise, 23505 for a further unique key included.
Claim insert_or_fetch(const Binding &binding, const Row &row, Row &found);

/// Whether to look for a row before an insert is tried. Where an insert that yields is not without effect it must not
/// be tried if there is a row, so that a replay changes nothing. So too under a snapshot that stays: a row which it
/// shows answers the call, also if somebody has deleted it since. A role that may not insert at all is refused by the
/// insert, also on a replay.
bool looks_first(const Binding &binding);

/// Look for the row with the scope of `row`. Needs an SPI connection.
bool find_by_scope(const Binding &binding, const Row &row, Row &found);

} // namespace idem::pg
