#pragma once

#include "document.h"

#include "json_tree.h"

#include <string>

namespace idem::fuzz {

/// The document as the core sees it.
inline core::test::JsonTree tree(const Document &document)
{
    switch (document.kind) {
    case Document::Kind::null:
        return core::test::null();
    case Document::Kind::boolean:
        return core::test::boolean(document.boolean);
    case Document::Kind::number:
        return core::test::number(document.text);
    case Document::Kind::string:
        return core::test::text(document.text);
    case Document::Kind::array: {
        std::vector<core::test::JsonTree> elements;
        for (const Document &element : document.elements) {
            elements.push_back(tree(element));
        }
        return core::test::array(std::move(elements));
    }
    case Document::Kind::object:
        break;
    }
    core::test::Members members;
    for (const auto &[name, value] : document.members) {
        members.emplace_back(name, tree(value));
    }
    return core::test::object(members);
}

} // namespace idem::fuzz
