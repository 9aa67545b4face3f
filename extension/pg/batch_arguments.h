#pragma once

#include "batch_rows.h"

#include <vector>

#include "pg.h"

namespace idem::pg {

/// What a batch does about a request that cannot be served: report it, or raise the first one.
enum class BatchMode { each, all };

/// The arguments of a batch. The texts and documents of its calls live in the arguments.
struct Batch {
    BatchMode mode;
    std::vector<BatchEntry> entries; // with their calls, unchecked
};

/// Read the arguments of idem_create_transactions(). Raises 22004 for a missing array, 22023 for arrays that do not fit
/// each other and for an unknown mode, 54000 for too many requests.
Batch read_batch(FunctionCallInfo fcinfo);

} // namespace idem::pg
