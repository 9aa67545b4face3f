#pragma once

#include "json_tree.h"
#include "utf8.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace idem::core::test {

/// One code point as UTF-8.
inline std::string utf8(char32_t character)
{
    std::string out;
    append_character(out, character);
    return out;
}

/// A source of documents that a seed repeats on every machine: it uses no distribution of the standard library.
class RandomJson {
public:
    explicit RandomJson(uint64_t seed) : engine_(seed) {}

    /// A number below `limit`.
    uint64_t below(uint64_t limit) { return engine_() % limit; }

    /// A code point other than a surrogate, from every length of UTF-8 and often at a border of the encoding.
    char32_t character()
    {
        constexpr char32_t kBorders[] = {0x00,   0x1F,    0x20,    0x22,    0x5C,    0x7F,     0x80,
                                         0x7FF,  0x800,   0xCFFF,  0xD7FF,  0xE000,  0xEFFF,   0xF000,
                                         0xFFFF, 0x10000, 0x3FFFF, 0x40000, 0xFFFFF, 0x100000, 0x10FFFF};
        constexpr char32_t kEnds[] = {0x80, 0x800, 0x10000, 0x110000};
        if (below(3) == 0) {
            return kBorders[below(std::size(kBorders))];
        }
        const auto drawn = static_cast<char32_t>(below(kEnds[below(std::size(kEnds))]));
        return drawn >= 0xD800 && drawn < 0xE000 ? drawn - 0x800 : drawn;
    }

    /// A text of fewer than `limit` characters.
    std::string characters(uint64_t limit)
    {
        std::string out;
        for (uint64_t left = below(limit); left > 0; --left) {
            append_character(out, character());
        }
        return out;
    }

    /// The literal of a number with up to 40 digits on both sides of the point.
    std::string literal()
    {
        std::string out = below(2) == 0 ? "-" : "";
        const uint64_t count = 1 + below(40);
        const uint64_t dot = below(count);
        for (uint64_t i = 0; i < count; ++i) {
            out += static_cast<char>('0' + (below(2) == 0 ? 0 : below(10)));
            if (i == dot && i + 1 < count) {
                out += '.';
            }
        }
        if (below(2) == 0) {
            out += 'e' + std::to_string(static_cast<int>(below(61)) - 30);
        }
        return out;
    }

    /// A document at most `depth` levels deep, whose member names are unique within their object.
    JsonTree document(int depth)
    {
        switch (below(depth > 0 ? 7 : 4)) {
        case 0:
            return null();
        case 1:
            return boolean(below(2) == 0);
        case 2:
            return number(literal());
        case 3:
            return text(characters(6));
        case 4: {
            std::vector<JsonTree> elements;
            for (uint64_t left = below(5); left > 0; --left) {
                elements.push_back(document(depth - 1));
            }
            return array(std::move(elements));
        }
        default: {
            Members members;
            for (uint64_t left = below(7); left > 0; --left) {
                std::string name = characters(4);
                const auto same = [&name](const auto &member) { return member.first == name; };
                if (std::none_of(members.begin(), members.end(), same)) {
                    members.emplace_back(std::move(name), document(depth - 1));
                }
            }
            return object(members);
        }
        }
    }

    /// The same document with the members of every object in another order.
    JsonTree shuffled(const JsonTree &tree)
    {
        if (tree.kind() == JsonKind::array) {
            std::vector<JsonTree> elements;
            for (size_t i = 0; i < tree.size(); ++i) {
                elements.push_back(shuffled(tree.child(i)));
            }
            return array(std::move(elements));
        }
        if (tree.kind() == JsonKind::object) {
            Members members;
            for (size_t i = 0; i < tree.size(); ++i) {
                const auto at = static_cast<std::ptrdiff_t>(below(i + 1));
                members.emplace(members.begin() + at, tree.name(i), shuffled(tree.child(i)));
            }
            return object(members);
        }
        return tree;
    }

private:
    std::mt19937_64 engine_;
};

} // namespace idem::core::test
