#pragma once

#include "document.h"

#include <string>
#include <string_view>

namespace idem::fuzz {

// The canonical form once more, from docs/fingerprint.md and RFC 8785 alone: it shares no code and no idea with
// extension/core. It is slow and simple, so that it can be seen to be right.

/// The canonical form, version 1.
std::string slow_canonical(const Document &document);

/// The canonical form of a number as JSON writes it.
std::string slow_number(std::string_view number);

/// About how many zeros are added to the numbers of a document where they are written without exponents; not less than
/// there are.
size_t printed_zeros(const Document &document);

/// Whether two documents are one, and two numbers one value.
bool same(const Document &left, const Document &right);

} // namespace idem::fuzz
