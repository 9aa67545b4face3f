#pragma once

#include "binding.h"

namespace idem::pg {

/// Insert `row`, or find the row that stands in its way, which is then in `found`; an inserted row comes back in
/// `found` as it was stored. Waits for a concurrent transaction that inserts the same scope or order_ref. Needs an SPI
/// connection. Raises ID002 where idem.busy_timeout ends the wait, 40001 where the row keeps vanishing, 42501 where row
/// security hides it, 55000 where a trigger suppresses the insert or changes the key, XX001 where the index returns a
/// row of another key, and what the statements raise, 23505 for a further unique key included.
Claim insert_or_fetch(const Binding &binding, const Row &row, Row &found);

} // namespace idem::pg
