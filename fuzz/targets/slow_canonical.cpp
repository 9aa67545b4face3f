#include "slow_canonical.h"

#include <cstdio>
#include <cstdlib>
#include <map>

namespace idem::fuzz {
namespace {

// The value 0.D * 10^p of the specification; D is empty for zero.
struct Value {
    bool negative = false;
    std::string digits;
    long point = 0;

    friend bool operator==(const Value &, const Value &) = default;
};

Value value_of(std::string_view number)
{
    Value value;
    bool behind_point = false;
    for (size_t at = 0; at < number.size(); ++at) {
        const char c = number[at];
        if (c == '-') {
            value.negative = true;
        } else if (c == '.') {
            behind_point = true;
        } else if (c == 'e' || c == 'E') {
            value.point += std::stol(std::string(number.substr(at + 1)));
            break;
        } else {
            value.digits += c;
            value.point += behind_point ? 0 : 1;
        }
    }
    while (!value.digits.empty() && value.digits.front() == '0') {
        value.digits.erase(0, 1);
        --value.point;
    }
    while (!value.digits.empty() && value.digits.back() == '0') {
        value.digits.pop_back();
    }
    return value.digits.empty() ? Value{} : value;
}

// UTF-8 as UTF-16.
std::u16string utf16(std::string_view text)
{
    std::u16string units;
    for (size_t at = 0; at < text.size();) {
        const auto octet = [&](size_t i) { return static_cast<unsigned>(static_cast<unsigned char>(text[at + i])); };
        if (octet(0) < 128) {
            units += static_cast<char16_t>(octet(0));
            at += 1;
        } else if (octet(0) < 224) {
            units += static_cast<char16_t>((octet(0) - 192) * 64 + (octet(1) - 128));
            at += 2;
        } else if (octet(0) < 240) {
            units += static_cast<char16_t>((octet(0) - 224) * 4096 + (octet(1) - 128) * 64 + (octet(2) - 128));
            at += 3;
        } else {
            const unsigned character =
                (octet(0) - 240) * 262144 + (octet(1) - 128) * 4096 + (octet(2) - 128) * 64 + (octet(3) - 128) - 65536;
            units += static_cast<char16_t>(0xD800 + character / 1024);
            units += static_cast<char16_t>(0xDC00 + character % 1024);
            at += 4;
        }
    }
    return units;
}

std::string slow_string(std::string_view text)
{
    static const std::map<char, std::string> escapes{{'"', "\\\""}, {'\\', "\\\\"}, {'\b', "\\b"}, {'\t', "\\t"},
                                                     {'\n', "\\n"}, {'\f', "\\f"},  {'\r', "\\r"}};
    std::string out = "\"";
    for (const char c : text) {
        if (const auto escape = escapes.find(c); escape != escapes.end()) {
            out += escape->second;
        } else if (c >= 0 && c < 32) {
            char buffer[8];
            (void)std::snprintf(buffer, sizeof buffer, "\\u%04x", static_cast<unsigned>(c));
            out += buffer;
        } else {
            out += c;
        }
    }
    return out + "\"";
}

} // namespace

std::string slow_number(std::string_view number)
{
    const Value value = value_of(number);
    if (value.digits.empty()) {
        return "0";
    }
    const auto k = static_cast<long>(value.digits.size());
    const long p = value.point;
    std::string out;
    if (p > 0 && p <= 21) {
        // Plain: digits with zeros up to the point, and what is behind it.
        out = value.digits + std::string(static_cast<size_t>(k < p ? p - k : 0), '0');
        if (k > p) {
            out.insert(static_cast<size_t>(p), ".");
        }
    } else if (p > -6 && p <= 0) {
        out = "0." + std::string(static_cast<size_t>(-p), '0') + value.digits;
    } else {
        out = value.digits;
        if (k > 1) {
            out.insert(1, ".");
        }
        out += (p - 1 < 0 ? "e-" : "e+") + std::to_string(p - 1 < 0 ? 1 - p : p - 1);
    }
    return (value.negative ? "-" : "") + out;
}

size_t printed_zeros(const Document &document)
{
    size_t zeros = 0;
    if (document.kind == Document::Kind::number) {
        zeros = static_cast<size_t>(std::labs(value_of(document.text).point)) + document.text.size();
    }
    for (const Document &element : document.elements) {
        zeros += printed_zeros(element);
    }
    for (const auto &[name, value] : document.members) {
        zeros += printed_zeros(value);
    }
    return zeros;
}

std::string slow_canonical(const Document &document)
{
    std::string out;
    switch (document.kind) {
    case Document::Kind::null:
        return "null";
    case Document::Kind::boolean:
        return document.boolean ? "true" : "false";
    case Document::Kind::number:
        return slow_number(document.text);
    case Document::Kind::string:
        return slow_string(document.text);
    case Document::Kind::array:
        for (const Document &element : document.elements) {
            out += (out.empty() ? "" : ",") + slow_canonical(element);
        }
        return "[" + out + "]";
    case Document::Kind::object:
        break;
    }
    std::map<std::u16string, std::string> sorted;
    for (const auto &[name, value] : document.members) {
        sorted[utf16(name)] = slow_string(name) + ":" + slow_canonical(value);
    }
    for (const auto &[units, member] : sorted) {
        out += (out.empty() ? "" : ",") + member;
    }
    return "{" + out + "}";
}

bool same(const Document &left, const Document &right)
{
    if (left.kind != right.kind || left.elements.size() != right.elements.size() ||
        left.members.size() != right.members.size()) {
        return false;
    }
    switch (left.kind) {
    case Document::Kind::null:
        return true;
    case Document::Kind::boolean:
        return left.boolean == right.boolean;
    case Document::Kind::number:
        return value_of(left.text) == value_of(right.text);
    case Document::Kind::string:
        return left.text == right.text;
    case Document::Kind::array:
        for (size_t i = 0; i < left.elements.size(); ++i) {
            if (!same(left.elements[i], right.elements[i])) {
                return false;
            }
        }
        return true;
    case Document::Kind::object:
        break;
    }
    std::map<std::string, const Document *> there;
    for (const auto &[name, value] : right.members) {
        there[name] = &value;
    }
    for (const auto &[name, value] : left.members) {
        const auto found = there.find(name);
        if (found == there.end() || !same(value, *found->second)) {
            return false;
        }
    }
    return true;
}

} // namespace idem::fuzz
