#pragma once

#include "binding.h"

#include <string>

#include "pg.h"

namespace idem::pg {

/// The key was used for another request: raise ID001. The detail says where they differ, without a value.
[[noreturn]] void refuse_other_request(const std::string &detail);

/// An inserted row is not found as it was sent: raise 42501 where row security hides it, else 55000.
[[noreturn]] void refuse_changed(const Binding &binding);

/// This index returned a row of another key: raise XX001.
[[noreturn]] void refuse_other_key(Oid index);

/// A row was not inserted, again and again, and no row is seen that stands in its way: raise the reason, 42501, 55000
/// or 40001.
[[noreturn]] void refuse_unseen(const Binding &binding);

/// The stored row was deleted concurrently: raise 40001.
[[noreturn]] void refuse_deleted();

} // namespace idem::pg
