#pragma once

#include "json.h"

#include <set>
#include <string>
#include <vector>

namespace idem::core {

/// Names the places where two JSON documents differ, as SQL/JSON paths ($.lines[0].qty), never a value.
class Differences {
public:
    using Names = std::set<std::string, std::less<>>;

    /// At most `limit` paths are kept; more() tells whether there are others.
    explicit Differences(size_t limit) : limit_(limit) {}

    /// Compare two documents. Equal means equal canonical forms: member order carries no meaning, numbers compare by
    /// value. Stops at the first difference beyond the limit. Throws what child() of the values throws.
    template <JsonValue V>
    void compare(const V &stored, const V &sent);

    /// The same for two objects, of which only the members that `looked_at` names are compared.
    template <JsonValue V>
    void compare_members(const V &stored, const V &sent, const Names &looked_at);

    const std::vector<std::string> &paths() const { return paths_; }
    bool more() const { return more_; }

private:
    template <JsonValue V>
    bool equal_scalars(const V &stored, const V &sent);
    template <JsonValue V>
    void compare_arrays(const V &stored, const V &sent);
    template <JsonValue V>
    void compare_objects(const V &stored, const V &sent, const Names *looked_at);

    void enter(std::string_view name);
    void enter(size_t index);
    void leave(size_t mark) { path_.resize(mark); }
    void report();

    size_t limit_;
    bool more_ = false;
    std::string path_ = "$";
    std::vector<std::string> paths_;
};

template <JsonValue V>
void Differences::compare(const V &stored, const V &sent)
{
    if (stored.kind() != sent.kind()) {
        report();
    } else if (stored.kind() == JsonKind::array) {
        compare_arrays(stored, sent);
    } else if (stored.kind() == JsonKind::object) {
        compare_objects(stored, sent, nullptr);
    } else if (!equal_scalars(stored, sent)) {
        report();
    }
}

template <JsonValue V>
void Differences::compare_members(const V &stored, const V &sent, const Names &looked_at)
{
    compare_objects(stored, sent, &looked_at);
}

template <JsonValue V>
bool Differences::equal_scalars(const V &stored, const V &sent)
{
    switch (stored.kind()) {
    case JsonKind::boolean:
        return stored.boolean() == sent.boolean();
    case JsonKind::string:
        return stored.string() == sent.string();
    case JsonKind::number: {
        std::string left;
        std::string right;
        append_number(left, stored.number());
        append_number(right, sent.number());
        return left == right;
    }
    default:
        return true; // null
    }
}

template <JsonValue V>
void Differences::compare_arrays(const V &stored, const V &sent)
{
    const size_t mark = path_.size();
    const size_t common = std::min(stored.size(), sent.size());
    for (size_t index = 0; index < common && !more_; ++index) {
        enter(index);
        compare(stored.child(index), sent.child(index));
        leave(mark);
    }
    if (stored.size() != sent.size()) {
        enter(common);
        report();
        leave(mark);
    }
}

template <JsonValue V>
void Differences::compare_objects(const V &stored, const V &sent, const Names *looked_at)
{
    const size_t mark = path_.size();
    const std::vector<JsonMember> left = sorted_members(stored);
    const std::vector<JsonMember> right = sorted_members(sent);
    auto l = left.begin();
    auto r = right.begin();
    while ((l != left.end() || r != right.end()) && !more_) {
        const bool only_stored = r == right.end() || (l != left.end() && utf16_less(l->name, r->name));
        const bool only_sent = !only_stored && (l == left.end() || utf16_less(r->name, l->name));
        const std::string_view name = only_sent ? r->name : l->name;
        if (looked_at == nullptr || looked_at->contains(name)) {
            enter(name);
            if (only_stored || only_sent) {
                report();
            } else {
                compare(stored.child(l->index), sent.child(r->index));
            }
            leave(mark);
        }
        l += only_sent ? 0 : 1;
        r += only_stored ? 0 : 1;
    }
}

} // namespace idem::core
