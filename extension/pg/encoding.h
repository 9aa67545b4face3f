#pragma once

#include <string_view>

#include "pg.h"

namespace idem::pg {

/// The octets of a text value, in the database encoding, detoasted into the current memory context where need be.
/// Server code.
std::string_view text_octets(Datum value);

/// `text`, which is in the database encoding, as UTF-8: itself where no conversion is due, else a copy in the current
/// memory context. Raises 22021 where the text is not valid (a database in SQL_ASCII), 22P05 where
/// Unicode lacks a character.
std::string_view to_utf8(std::string_view text);

} // namespace idem::pg
