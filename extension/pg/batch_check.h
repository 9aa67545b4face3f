#pragma once

#include "batch_rows.h"
#include "ledger_binding.h"

#include <vector>

#include "pg.h"

namespace idem::pg {

/// Check the requests and compute their fingerprints. One that cannot be served gets the outcome invalid, or, with
/// `raise`, is raised as the single call raises it, with its place in the DETAIL.
void check_batch(std::vector<BatchEntry> &entries, bool raise);

/// Raise what the single call raises for this request, which ended as a conflict or with its order taken, with its
/// place in the DETAIL. Needs an SPI connection.
[[noreturn]] void refuse_entry(const LedgerBinding &binding, const std::vector<BatchEntry> &entries, size_t place);

} // namespace idem::pg
