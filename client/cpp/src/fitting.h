#pragma once

#include <string_view>

namespace idem::client {

/// Whether a client and an extension of these versions fit: the major versions are the same, and before 1.0.0 the minor
/// ones, too.
bool versions_fit(std::string_view client, std::string_view extension);

} // namespace idem::client
