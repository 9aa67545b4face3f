#pragma once

#include <string>

namespace idem::client {

/// The text of a UUID of 16 octets, 36 characters in lower case.
std::string uuid_text(const unsigned char *octets);

} // namespace idem::client
