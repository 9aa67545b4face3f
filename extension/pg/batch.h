#pragma once

#include "batch_rows.h"
#include "ledger_binding.h"

#include <vector>

#include "pg.h"

namespace idem::pg {

/// Insert or find a transaction for each entry that is not invalid, as single calls in the order of the input would;
/// each gets its outcome. Needs an SPI connection. Raises what insert_or_fetch() raises.
void decide_batch(const LedgerBinding &binding, std::vector<BatchEntry> &entries);

} // namespace idem::pg
