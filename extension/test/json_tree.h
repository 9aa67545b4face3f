#pragma once

#include "errcodes.h"
#include "error.h"
#include "json.h"

#include <charconv>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace idem::core::test {

/// The exact value of a JSON number. Zeros of the literal are kept as zero digits, so that "0001.5000" gives groups
/// which the value does not need.
inline Decimal parse_decimal(std::string_view literal)
{
    Decimal number;
    number.negative = literal.starts_with('-');
    literal.remove_prefix(number.negative ? 1 : 0);

    int exponent = 0;
    const size_t mark = std::min(literal.find_first_of("eE"), literal.size());
    if (mark < literal.size()) {
        const size_t sign = literal[mark + 1] == '+' ? 1 : 0;
        const char *last = literal.data() + literal.size();
        if (std::from_chars(literal.data() + mark + 1 + sign, last, exponent).ptr != last) {
            throw std::invalid_argument("bad exponent");
        }
    }
    std::string digits(literal.substr(0, mark));
    if (const size_t dot = digits.find('.'); dot != std::string::npos) {
        digits.erase(dot, 1);
        exponent -= static_cast<int>(digits.size() - dot);
    }
    for (; exponent % 4 != 0; --exponent) {
        digits += '0';
    }
    digits.insert(0, (4 - digits.size() % 4) % 4, '0');
    for (size_t at = 0; at < digits.size(); at += 4) {
        number.digits.push_back(static_cast<uint16_t>(std::stoi(digits.substr(at, 4))));
    }
    number.weight = static_cast<int>(number.digits.size()) - 1 + exponent / 4;
    return number;
}

/// A JSON value in memory, the tests' model of JsonValue. Copies share the document.
class JsonTree {
public:
    explicit JsonTree(JsonKind kind) : node_(std::make_shared<Node>(kind)) {}

    JsonKind kind() const { return node_->kind; }
    bool boolean() const { return node_->boolean; }
    Decimal number() const { return node_->number; }
    std::string_view string() const { return node_->string; }
    size_t size() const { return node_->children.size(); }
    std::string_view name(size_t index) const { return node_->names.at(index); }

    /// The element or member value; throws as the server's stack guard does where the document was made to.
    JsonTree child(size_t index) const
    {
        if (node_->guarded) {
            throw Error(sqlstate::kTooComplex, "nesting is too deep");
        }
        return node_->children.at(index);
    }

    friend JsonTree boolean(bool value);
    friend JsonTree number(Decimal value);
    friend JsonTree text(std::string value);
    friend JsonTree array(std::vector<JsonTree> elements);
    friend JsonTree object(const std::vector<std::pair<std::string, JsonTree>> &members);
    friend JsonTree guarded(const JsonTree &container);

private:
    struct Node {
        explicit Node(JsonKind of) : kind(of) {}

        JsonKind kind;
        bool boolean = false;
        bool guarded = false;
        Decimal number;
        std::string string;
        std::vector<std::string> names;
        std::vector<JsonTree> children;
    };
    std::shared_ptr<Node> node_;
};

using Members = std::vector<std::pair<std::string, JsonTree>>;

/// The JSON value null.
inline JsonTree null()
{
    return JsonTree(JsonKind::null);
}

/// A JSON boolean.
inline JsonTree boolean(bool value)
{
    JsonTree tree(JsonKind::boolean);
    tree.node_->boolean = value;
    return tree;
}

/// A JSON number of exactly these digits.
inline JsonTree number(Decimal value)
{
    JsonTree tree(JsonKind::number);
    tree.node_->number = std::move(value);
    return tree;
}

/// A JSON number as a document writes it.
inline JsonTree number(std::string_view literal)
{
    return number(parse_decimal(literal));
}

/// A JSON string.
inline JsonTree text(std::string value)
{
    JsonTree tree(JsonKind::string);
    tree.node_->string = std::move(value);
    return tree;
}

/// A JSON array.
inline JsonTree array(std::vector<JsonTree> elements)
{
    JsonTree tree(JsonKind::array);
    tree.node_->children = std::move(elements);
    return tree;
}

/// A JSON object with its members in the given order.
inline JsonTree object(const Members &members)
{
    JsonTree tree(JsonKind::object);
    for (const auto &[name, value] : members) {
        tree.node_->names.push_back(name);
        tree.node_->children.push_back(value);
    }
    return tree;
}

/// The same container, but its child() throws Error 54001.
inline JsonTree guarded(const JsonTree &container)
{
    JsonTree tree(container);
    tree.node_ = std::make_shared<JsonTree::Node>(*container.node_);
    tree.node_->guarded = true;
    return tree;
}

static_assert(JsonValue<JsonTree>);

} // namespace idem::core::test
