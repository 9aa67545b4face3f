#pragma once

#include "decimal.h"

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <string_view>
#include <vector>

namespace idem::core {

enum class JsonKind { null, boolean, number, string, array, object };

/// A read-only view of one JSON value, however it is stored. Texts are UTF-8 and live as long as the document. An
/// object's member names are unique; the order of its members means nothing. child() may throw where the nesting is
/// too deep for the machine.
template <typename V>
concept JsonValue = requires(const V &value, size_t index)
{
    {
        value.kind()
        } -> std::same_as<JsonKind>;
    {
        value.boolean()
        } -> std::same_as<bool>;
    {
        value.number()
        } -> std::same_as<Decimal>;
    {
        value.string()
        } -> std::same_as<std::string_view>;
    {
        value.size()
        } -> std::same_as<size_t>; // elements of an array, members of an object
    {
        value.name(index)
        } -> std::same_as<std::string_view>; // of an object's member
    {
        value.child(index)
        } -> std::same_as<V>; // an element, or a member's value
};

/// Whether `left` sorts before `right` by UTF-16 code units (RFC 8785 section 3.2.3); both are valid UTF-8.
bool utf16_less(std::string_view left, std::string_view right);

struct JsonMember {
    std::string_view name;
    size_t index;
};

/// The members of an object in canonical order.
template <JsonValue V>
std::vector<JsonMember> sorted_members(const V &object)
{
    std::vector<JsonMember> members;
    const size_t count = object.size();
    members.reserve(count);
    for (size_t index = 0; index < count; ++index) {
        members.push_back({object.name(index), index});
    }
    std::sort(members.begin(), members.end(),
              [](const JsonMember &left, const JsonMember &right) { return utf16_less(left.name, right.name); });
    return members;
}

} // namespace idem::core
