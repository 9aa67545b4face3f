#pragma once

#include "jsonb_value.h"

#include <string>
#include <string_view>

#include "pg.h"

namespace idem::pg {

/// Raise 42703 for a member of a row's document that is no column or attribute of `owner` ("table x", "type x").
[[noreturn]] void refuse_member(std::string_view name, const std::string &owner);

/// Make sure that each member of the objects which become values of composite types, in a value of `type`, is one of
/// their attributes; the server would drop the others. Raises 42703.
void check_members(const JsonbValue &value, Oid type);

} // namespace idem::pg
