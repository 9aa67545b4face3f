#pragma once

#include <array>
#include <string_view>

namespace idem::core {

using Sha256 = std::array<unsigned char, 32>;

/// SHA-256 (FIPS 180-4) by OpenSSL. The first call in a process fetches the algorithm; later ones reuse it.
/// Throws Error 58000 where OpenSSL cannot provide it, std::bad_alloc where there is no memory for it.
Sha256 sha256(std::string_view data);

} // namespace idem::core
