#pragma once

#include <array>
#include <cstdint>

namespace idem::core {

using Uuid = std::array<unsigned char, 16>;

/// What is random in a UUID: two of the bits give way to the variant.
using UuidRandom = std::array<unsigned char, 8>;

/// A UUID version 7 (RFC 9562 section 5.7) for a time in microseconds since the Unix epoch, 1970 or later: 48 bits
/// of milliseconds, 12 bits of their fraction (section 6.2, method 3), 62 random bits. Ids made in order of time sort
/// in that order to a quarter of a microsecond.
Uuid make_uuid7(int64_t unix_microseconds, const UuidRandom &random);

/// The same with random bits of its own. Throws Error 58000 where OpenSSL has no random bytes. It keeps some of them
/// for later calls, so that it must be called by one thread only, in a process that does not fork.
Uuid make_uuid7(int64_t unix_microseconds);

} // namespace idem::core
