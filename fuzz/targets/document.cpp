#include "document.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace idem::fuzz {
namespace {

constexpr int kDeepest = 6;

// Numbers at which something changes: layouts, the limits of doubles and those of jsonb.
constexpr std::array<std::string_view, 24> kBorders{"0",
                                                    "-0",
                                                    "0.0",
                                                    "1e21",
                                                    "1e20",
                                                    "999999999999999999999",
                                                    "1000000000000000000000",
                                                    "0.000001",
                                                    "0.0000001",
                                                    "0.00000099999999999999999999",
                                                    "9007199254740992",
                                                    "9007199254740993",
                                                    "-9007199254740993",
                                                    "9223372036854775807",
                                                    "18446744073709551616",
                                                    "0.1",
                                                    "0.10000000000000001",
                                                    "1.7976931348623157e308",
                                                    "1e309",
                                                    "5e-324",
                                                    "1e-400",
                                                    "1e131071",
                                                    "1e-16383",
                                                    "295147905179352825856"};

// Characters at which something changes: escapes, the lengths of UTF-8, the order of UTF-16.
constexpr std::array<char32_t, 24> kCharacters{0x00,   0x08,   0x0B,   0x1F,   0x20,    0x22,    0x2F,    0x5C,
                                               0x61,   0x7F,   0x80,   0x9F,   0xE9,    0x7FF,   0x800,   0x2028,
                                               0xD7FF, 0xE000, 0xFB00, 0xFFFF, 0x10000, 0x1F600, 0x3FFFF, 0x10FFFF};

// A character as UTF-8, by arithmetic and not by bits as the code under test does it.
void append_utf8(std::string &out, char32_t character)
{
    const auto put = [&out](char32_t octet) { out += static_cast<char>(static_cast<unsigned char>(octet)); };
    if (character < 128) {
        put(character);
    } else if (character < 2048) {
        put(192 + character / 64);
        put(128 + character % 64);
    } else if (character < 65536) {
        put(224 + character / 4096);
        put(128 + character / 64 % 64);
        put(128 + character % 64);
    } else {
        put(240 + character / 262144);
        put(128 + character / 4096 % 64);
        put(128 + character / 64 % 64);
        put(128 + character % 64);
    }
}

char32_t take_character(Octets &octets)
{
    const unsigned first = octets.octet();
    if (first < 0x80) {
        return first;
    }
    if (first < 0xE0) {
        return kCharacters[first % kCharacters.size()];
    }
    const char32_t drawn = (first % 17 * 65536U + octets.octet() * 256U + octets.octet()) % 0x110000;
    return drawn >= 0xD800 && drawn < 0xE000 ? drawn + 0x2000 : drawn;
}

// Digits two to an octet.
std::string take_digits(Octets &octets, unsigned count)
{
    std::string digits;
    while (digits.size() < count) {
        const unsigned pair = octets.octet() % 100;
        digits += static_cast<char>('0' + pair / 10);
        digits += static_cast<char>('0' + pair % 10);
    }
    return digits.substr(0, count);
}

// A number in the grammar of RFC 8259, within what jsonb takes.
std::string take_number(Octets &octets)
{
    const unsigned form = octets.octet();
    if (form % 4 == 0) {
        return std::string(kBorders[octets.below(kBorders.size())]);
    }
    std::string whole = take_digits(octets, 1 + octets.below(30));
    whole.erase(0, std::min(whole.find_first_not_of('0'), whole.size() - 1));
    std::string number = (form & 4U ? "-" : "") + whole;
    if (form & 8U) {
        number += '.';
        number += take_digits(octets, 1 + octets.below(30));
    }
    if (form & 16U) {
        const int exponent = form & 32U ? static_cast<int>(octets.octet()) * 64 : static_cast<int>(octets.below(30));
        number += (form & 64U ? "e-" : form & 128U ? "E+" : "e") + std::to_string(exponent);
    }
    return number;
}

bool has_member(const Document &object, std::string_view name)
{
    return std::any_of(object.members.begin(), object.members.end(),
                       [name](const auto &member) { return member.first == name; });
}

Document take(Octets &octets, int depth)
{
    Document document;
    if (octets.empty()) {
        return document;
    }
    const unsigned kind = octets.below(depth < kDeepest ? 8 : 4);
    switch (kind) {
    case 0:
        break;
    case 1:
        document.kind = Document::Kind::boolean;
        document.boolean = octets.below(2) == 1;
        break;
    case 2:
        document.kind = Document::Kind::number;
        document.text = take_number(octets);
        break;
    case 3:
        document.kind = Document::Kind::string;
        document.text = take_characters(octets, octets.below(12));
        break;
    case 4:
        document.kind = Document::Kind::array;
        for (unsigned left = octets.below(6); left > 0 && !octets.empty(); --left) {
            document.elements.push_back(take(octets, depth + 1));
        }
        break;
    default:
        document.kind = Document::Kind::object;
        for (unsigned left = octets.below(9); left > 0 && !octets.empty(); --left) {
            std::string name = take_characters(octets, octets.below(4));
            if (!has_member(document, name)) {
                document.members.emplace_back(std::move(name), take(octets, depth + 1));
            }
        }
    }
    return document;
}

// The same number with other zeros and another exponent.
std::string reworded_number(const std::string &number, Choices &choices)
{
    const size_t mark = std::min(number.find_first_of("eE"), number.size());
    std::string digits = number.substr(0, mark);
    long exponent = mark < number.size() ? std::stol(number.substr(mark + 1)) : 0;
    if (choices.below(2) == 0) {
        digits += digits.find('.') == std::string::npos ? ".0" : "0";
    }
    const size_t dot = digits.find('.');
    if (dot != std::string::npos && choices.below(2) == 0) {
        // Without the point: 1.50 is 150e-2.
        exponent -= static_cast<long>(digits.size() - dot - 1);
        digits.erase(dot, 1);
        const size_t sign = digits[0] == '-' ? 1 : 0;
        const size_t leading = digits.find_first_not_of('0', sign);
        digits.erase(sign, std::min(leading, digits.size() - 1) - sign);
    } else if (dot == std::string::npos && choices.below(2) == 0) {
        digits += "000";
        exponent -= 3;
        const size_t sign = digits[0] == '-' ? 1 : 0;
        if (digits[sign] == '0') {
            digits.erase(sign + 1);
        }
    }
    return exponent == 0 && choices.below(2) == 0 ? digits : digits + "E" + std::to_string(exponent);
}

// A number with another digit, sign or exponent, or a further digit.
std::string changed_number(std::string number, Choices &choices)
{
    const size_t mark = std::min(number.find_first_of("eE"), number.size());
    switch (choices.below(4)) {
    case 0:
        return number[0] == '-' ? number.substr(1) : "-" + number;
    case 1:
        return number.substr(0, mark) + "e" + std::to_string(static_cast<int>(choices.below(50)) - 25);
    case 2: { // one more digit at the end, beyond what a double holds
        const bool whole = number.find('.') >= mark;
        const std::string digit(1, static_cast<char>('0' + choices.below(10)));
        return number.substr(0, mark) + (whole ? ".00000000000000000" : "") + digit + number.substr(mark);
    }
    default:
        for (size_t at = mark; at > 0; --at) {
            if (number[at - 1] >= '0' && choices.below(3) == 0) {
                number[at - 1] = static_cast<char>('1' + choices.below(9));
                break;
            }
        }
        return number;
    }
}

void change(Document &document, Choices &choices);

void change_container(Document &document, Choices &choices)
{
    const bool array = document.kind == Document::Kind::array;
    const size_t count = array ? document.elements.size() : document.members.size();
    if (count > 0 && choices.below(4) > 0) {
        const size_t place = choices.below(count);
        change(array ? document.elements[place] : document.members[place].second, choices);
    } else if (count > 0 && choices.below(2) == 0) {
        array ? document.elements.pop_back() : document.members.pop_back();
    } else if (array) {
        document.elements.emplace_back();
    } else if (!has_member(document, "new")) {
        document.members.emplace_back("new", Document{});
    }
}

void change(Document &document, Choices &choices)
{
    switch (document.kind) {
    case Document::Kind::null:
        document.kind = Document::Kind::boolean;
        break;
    case Document::Kind::boolean:
        document.boolean = !document.boolean;
        break;
    case Document::Kind::number:
        if (choices.below(8) == 0) {
            document.kind = Document::Kind::string; // "1" is not 1
        } else {
            document.text = changed_number(document.text, choices);
        }
        break;
    case Document::Kind::string:
        append_utf8(document.text, kCharacters[choices.below(kCharacters.size())]);
        break;
    default:
        change_container(document, choices);
    }
}

} // namespace

std::string take_characters(Octets &octets, unsigned limit)
{
    std::string text;
    for (; limit > 0 && !octets.empty(); --limit) {
        append_utf8(text, take_character(octets));
    }
    return text;
}

Document take_document(Octets &octets)
{
    return take(octets, 0);
}

Document reworded(const Document &document, Choices &choices)
{
    Document copy = document;
    if (document.kind == Document::Kind::number) {
        copy.text = reworded_number(document.text, choices);
    }
    for (Document &element : copy.elements) {
        element = reworded(element, choices);
    }
    for (auto &[name, value] : copy.members) {
        value = reworded(value, choices);
    }
    for (size_t left = copy.members.size(); left > 1; --left) {
        std::swap(copy.members[left - 1], copy.members[choices.below(left)]);
    }
    return copy;
}

Document changed(const Document &document, Choices &choices)
{
    Document copy = document;
    change(copy, choices);
    return copy;
}

} // namespace idem::fuzz
