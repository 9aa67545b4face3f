#pragma once

#include <array>
#include <cstdint>

namespace idem::core {

using Uuid = std::array<unsigned char, 16>;

/// A new UUID version 7 (RFC 9562 section 5.7) for a time in microseconds since the Unix epoch, 1970 or later: 48 bits
/// of milliseconds, 12 bits of their fraction (section 6.2, method 3), 62 random bits. Ids made in order of time sort
/// in that order to a quarter of a microsecond. Throws Error 58000 where OpenSSL has no random bytes.
Uuid make_uuid7(int64_t unix_microseconds);

} // namespace idem::core
