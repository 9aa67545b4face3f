#pragma once

namespace idem::pg {

/// Which other library must see or redirect what is written, and so stands in the way of a write without a statement,
/// as a sentence; nullptr: none. Server code.
const char *library_in_the_way();

} // namespace idem::pg
