#pragma once

#include "binding.h"

#include "pg.h"

namespace idem::pg {

/// Whether a committed row with the scope of `row` shows up in the scope index; much cheaper than to fetch it with a
/// statement. A hint: the row may vanish before it is fetched, and one that is not seen may be there. Only for bindings
/// whose scope says how it is compared. Server code.
bool probably_stored(const Binding &binding, const Row &row);

} // namespace idem::pg
