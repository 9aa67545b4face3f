#include "json.h"

#include "json_tree.h"
#include "random_json.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace idem::core::test {
namespace {

// The UTF-16 code units of a valid UTF-8 text.
std::u16string utf16(std::string_view text)
{
    std::u16string out;
    for (size_t at = 0; at < text.size();) {
        const auto lead = static_cast<unsigned char>(text[at]);
        const size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
        char32_t character = length == 1 ? lead : lead & (0x7FU >> length);
        for (size_t i = 1; i < length; ++i) {
            character = character * 64 + static_cast<unsigned char>(text[at + i]) % 64;
        }
        if (character < 0x10000) {
            out += static_cast<char16_t>(character);
        } else {
            out += static_cast<char16_t>(0xD800 + (character - 0x10000) / 0x400);
            out += static_cast<char16_t>(0xDC00 + (character - 0x10000) % 0x400);
        }
        at += length;
    }
    return out;
}

// The names in the order of sorted_members().
std::vector<std::string> sorted_names(const std::vector<std::string> &names)
{
    Members members;
    for (const std::string &name : names) {
        members.emplace_back(name, null());
    }
    const JsonTree tree = object(members);
    std::vector<std::string> sorted;
    for (const JsonMember &member : sorted_members(tree)) {
        sorted.emplace_back(member.name);
    }
    return sorted;
}

TEST(Utf16Less, SortsAPrefixFirst)
{
    EXPECT_TRUE(utf16_less("", "a"));
    EXPECT_TRUE(utf16_less("a", "aa"));
    EXPECT_TRUE(utf16_less("\u00e9", "\u00e9a"));
    EXPECT_TRUE(utf16_less("a", std::string_view("a\0", 2)));
    EXPECT_FALSE(utf16_less("a", ""));
    EXPECT_FALSE(utf16_less("aa", "a"));
    EXPECT_TRUE(utf16_less("aa", "b"));
    EXPECT_FALSE(utf16_less("b", "aa"));
}

TEST(Utf16Less, IsIrreflexive)
{
    for (const char *text : {"", "a", "\u00e9", "\u20ac", "\ue000", "\uffff", "\U0001f600"}) {
        EXPECT_FALSE(utf16_less(text, text)) << text;
    }
}

TEST(Utf16Less, ComparesOctetsAsUnsigned)
{
    EXPECT_TRUE(utf16_less("\x7f", "\u0080"));
    EXPECT_FALSE(utf16_less("\u0080", "\x7f"));
    EXPECT_TRUE(utf16_less("z", "\u00e9"));
}

TEST(Utf16Less, SortsSurrogatePairsBeforeTheEndOfTheBasicPlane)
{
    EXPECT_TRUE(utf16_less("\U0001f600", "\ufb33"));
    EXPECT_TRUE(utf16_less("\U0010ffff", "\ue000"));
    EXPECT_TRUE(utf16_less("\U00010000", "\uffff"));
    EXPECT_TRUE(utf16_less("\ud7ff", "\U00010000"));
    EXPECT_FALSE(utf16_less("\ue000", "\U00010000"));
    EXPECT_TRUE(utf16_less("\uefff", "\uf000"));
    EXPECT_TRUE(utf16_less("a\U0001f600z", "a\ue000a"));
}

// Both ends of the range of every lead byte of UTF-8, each against each.
TEST(Utf16Less, AgreesWithUtf16ForEveryLeadByte)
{
    std::vector<std::string> texts = {""};
    for (char32_t character = 0; character < 0x80; ++character) {
        texts.push_back(utf8(character));
    }
    for (char32_t block = 0x80; block < 0x800; block += 0x40) {
        texts.push_back(utf8(block));
        texts.push_back(utf8(block + 0x3F));
    }
    for (char32_t block = 0x800; block < 0x10000; block += 0x800) {
        if (block != 0xD800) {
            texts.push_back(utf8(block));
            texts.push_back(utf8(block + 0x7FF));
        }
    }
    for (char32_t block = 0x10000; block < 0x110000; block += 0x10000) {
        texts.push_back(utf8(block));
        texts.push_back(utf8(block + 0xFFFF));
    }
    for (const std::string &left : texts) {
        for (const std::string &right : texts) {
            ASSERT_EQ(utf16_less(left, right), utf16(left) < utf16(right)) << left << " " << right;
            ASSERT_EQ(utf16_less("x" + left, "x" + right + "y"), utf16("x" + left) < utf16("x" + right + "y"));
        }
    }
}

TEST(Utf16Less, AgreesWithUtf16OnRandomTexts)
{
    RandomJson random(3);
    for (int round = 0; round < 50000; ++round) {
        const std::string common = random.characters(3);
        const std::string left = common + random.characters(4);
        const std::string right = common + random.characters(4);
        ASSERT_EQ(utf16_less(left, right), utf16(left) < utf16(right));
    }
}

// The sample of RFC 8785 section 3.2.3.
TEST(SortedMembers, FollowsTheSampleOfRfc8785)
{
    const std::vector<std::string> expected = {"\r", "1", "\u0080", "\u00f6", "\u20ac", "\U0001f600", "\ufb33"};
    EXPECT_EQ(sorted_names({"\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\u0080", "\u00f6"}), expected);
}

TEST(SortedMembers, SortsByTextAndNotByLength)
{
    const std::vector<std::string> expected = {"", "A", "a", "aa", "b"};
    EXPECT_EQ(sorted_names({"b", "aa", "a", "", "A"}), expected);
}

TEST(SortedMembers, KeepsTheIndexOfEachMember)
{
    const JsonTree tree = object({{"c", null()}, {"a", null()}, {"b", null()}});
    const std::vector<JsonMember> members = sorted_members(tree);
    ASSERT_EQ(members.size(), 3U);
    EXPECT_EQ(members[0].index, 1U);
    EXPECT_EQ(members[1].index, 2U);
    EXPECT_EQ(members[2].index, 0U);
    EXPECT_TRUE(sorted_members(object({})).empty());
}

TEST(SortedMembers, AgreesWithASlowSortInUtf16)
{
    RandomJson random(4);
    for (int round = 0; round < 500; ++round) {
        std::vector<std::string> names;
        for (int i = 0; i < 40; ++i) {
            names.push_back(random.characters(4));
        }
        std::vector<std::string> expected = names;
        std::sort(expected.begin(), expected.end(),
                  [](const std::string &left, const std::string &right) { return utf16(left) < utf16(right); });
        ASSERT_EQ(sorted_names(names), expected);
    }
}

} // namespace
} // namespace idem::core::test
