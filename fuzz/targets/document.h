#pragma once

#include "octets.h"

#include <string>
#include <utility>
#include <vector>

namespace idem::fuzz {

/// A JSON document as the targets know it: numbers are the digits that somebody wrote, texts are UTF-8, and no name is
/// twice in an object.
struct Document {
    enum class Kind { null, boolean, number, string, array, object };

    Kind kind = Kind::null;
    bool boolean = false;
    std::string text = {}; // of a string, or a number as JSON writes it
    std::vector<Document> elements = {};
    std::vector<std::pair<std::string, Document>> members = {};
};

/// The document that the octets stand for.
Document take_document(Octets &octets);

/// The text that the octets stand for, of at most `limit` characters, as UTF-8.
std::string take_characters(Octets &octets, unsigned limit);

/// The same document written in another way: members in another order, numbers with other zeros and exponents.
Document reworded(const Document &document, Choices &choices);

/// The document with a change in one place: a digit, an exponent, a sign, a character, a name, something more or less.
/// The change may be one that means nothing, such as a further zero.
Document changed(const Document &document, Choices &choices);

} // namespace idem::fuzz
