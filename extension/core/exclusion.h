#pragma once

#include "json.h"

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace idem::core {

/// The longest list of exclusions, in octets of its text: every row that is fingerprinted with it keeps it.
inline constexpr size_t kMaxExclusionOctets = 1000;

/// Places in a JSON document that do not enter its fingerprint, named by paths: `$.sent_at`, `$.meta."trace id"`,
/// `$.lines[*].seen_at`. A path ends in the name of a member, which is left out with all that it holds.
class Exclusions {
public:
    struct Node {
        bool excluded = false;
        std::map<std::string, Node, std::less<>> members;
        std::unique_ptr<Node> elements; // of an array, all alike
    };

    Exclusions() = default;
    /// Throws Error 22023 for a malformed path and for a list that is too long. Paths are UTF-8.
    explicit Exclusions(std::vector<std::string> paths);
    /// The exclusions of a text that text() has made.
    static Exclusions from_text(std::string_view text);

    bool empty() const { return text_.empty(); }
    /// The paths, sorted, one a line: equal for equal lists.
    const std::string &text() const { return text_; }
    const Node *root() const { return &root_; }

private:
    void add(std::string_view path);

    Node root_;
    std::string text_;
};

/// A JSON value without what is excluded, as JsonValue.
template <JsonValue V>
class Pruned {
public:
    /// `node` says what is excluded below this value; nullptr: nothing.
    Pruned(V value, const Exclusions::Node *node) : value_(std::move(value)), node_(node)
    {
        if (node_ == nullptr || value_.kind() != JsonKind::object) {
            return;
        }
        for (size_t index = 0; index < value_.size(); ++index) {
            const auto member = node_->members.find(value_.name(index));
            if (member == node_->members.end() || !member->second.excluded) {
                kept_.push_back(index);
            }
        }
    }

    JsonKind kind() const { return value_.kind(); }
    bool boolean() const { return value_.boolean(); }
    Decimal number() const { return value_.number(); }
    std::string_view string() const { return value_.string(); }
    size_t size() const { return filtered() ? kept_.size() : value_.size(); }
    std::string_view name(size_t index) const { return value_.name(place(index)); }

    Pruned child(size_t index) const
    {
        const Exclusions::Node *below = nullptr;
        if (filtered()) {
            const auto member = node_->members.find(name(index));
            below = member == node_->members.end() ? nullptr : &member->second;
        } else if (node_ != nullptr) {
            below = node_->elements.get();
        }
        return {value_.child(place(index)), below};
    }

private:
    bool filtered() const { return node_ != nullptr && value_.kind() == JsonKind::object; }
    size_t place(size_t index) const { return filtered() ? kept_[index] : index; }

    V value_;
    const Exclusions::Node *node_;
    std::vector<size_t> kept_; // the members of an object that are not excluded
};

} // namespace idem::core
