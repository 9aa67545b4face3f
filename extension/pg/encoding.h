#pragma once

#include <string_view>

namespace idem::pg {

/// `text`, which is in the database encoding, as UTF-8: itself where no conversion is due, else a copy in the current
/// memory context. Raises 22021 where the text is not valid (a database in SQL_ASCII).
std::string_view to_utf8(std::string_view text);

} // namespace idem::pg
