#include "json_scan.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace idem::cli::test {
namespace {

using Members = std::vector<std::pair<std::string, std::string>>;

Members members_of(std::string_view text)
{
    Members members;
    scan_members(text,
                 [&](const std::string &name, const JsonSlice &value) { members.emplace_back(name, value.text); });
    return members;
}

bool is_json(std::string_view text)
{
    try {
        scan_json(text);
        return true;
    } catch (const JsonError &) {
        return false;
    }
}

TEST(JsonScan, TakesEveryKindOfValue)
{
    EXPECT_EQ(scan_json(" null ").kind, JsonKind::null);
    EXPECT_EQ(scan_json("true").kind, JsonKind::boolean);
    EXPECT_EQ(scan_json("false").kind, JsonKind::boolean);
    EXPECT_EQ(scan_json("-0.5e+7").kind, JsonKind::number);
    EXPECT_EQ(scan_json(R"("a\"b")").kind, JsonKind::string);
    EXPECT_EQ(scan_json("[1, [], {}, [[]], {\"a\": []}]").kind, JsonKind::array);
    EXPECT_EQ(scan_json("\t{\"a\" : {\"b\": [1 , 2]} , \"c\":0}\r\n").kind, JsonKind::object);
}

TEST(JsonScan, KeepsTheTextOfAValueAsItStands)
{
    EXPECT_EQ(scan_json("  { \"a\": 1180591620717411303424, \"b\":0.10, \"c\": 1e400 } ").text,
              "{ \"a\": 1180591620717411303424, \"b\":0.10, \"c\": 1e400 }");
}

TEST(JsonScan, RefusesWhatIsNotJson)
{
    for (const char *text :
         {"",        " ",     "{",        "}",        "[1,]",      "[,1]",         "{\"a\":1,}", "{\"a\" 1}",
          "{a:1}",   "{1:1}", "[1 2]",    "[1}",      "{\"a\":1]", "01",           "-",          "+1",
          "1.",      ".5",    "1e",       "1e+",      "0x10",      "--1",          "1 1",        "tru",
          "nulll",   "True",  "NaN",      "Infinity", "\"",        R"("\")",       R"("\x")",    R"("\u12g4")",
          "\"\\u12", "'a'",   "\"a\nb\"", "{} {}",    "{}x",       "[1, // no\n2]"}) {
        EXPECT_FALSE(is_json(text)) << text;
    }
    EXPECT_FALSE(is_json(std::string_view("1\0", 2)));
    EXPECT_FALSE(is_json(std::string_view("\"a\0b\"", 5)));
}

TEST(JsonScan, TakesAnyDepthWithoutTheStack)
{
    constexpr std::size_t kDepth = 5'000'000;
    std::string text(kDepth, '[');
    EXPECT_FALSE(is_json(text));
    text.append(kDepth, ']');
    EXPECT_TRUE(is_json(text));
    text.back() = '}';
    EXPECT_FALSE(is_json(text));
}

TEST(JsonScan, FindsMembersInTheirOrder)
{
    EXPECT_EQ(members_of("{}"), Members{});
    EXPECT_EQ(members_of(" {\"b\" : [1,{\"x\":2}] , \"a\":\"t\\n\",\"b\":null } "),
              (Members{{"b", "[1,{\"x\":2}]"}, {"a", "\"t\\n\""}, {"b", "null"}}));
    EXPECT_EQ(members_of("{\"\\u0061\\\\\": 1}"), (Members{{"a\\", "1"}}));
}

TEST(JsonScan, RefusesMembersOfWhatIsNoObject)
{
    for (const char *text : {"", "[]", "1", "\"a\"", "{\"a\":1,}", "{,}", "{\"a\"}", "{\"a\":}", "{\"a\":1", "{}{}",
                             R"({"a":1 "b":2})", R"({"\ud800":1})"}) {
        EXPECT_THROW(members_of(text), JsonError) << text;
    }
}

TEST(JsonScan, DecodesStrings)
{
    EXPECT_EQ(decode_json_string(R"("")"), "");
    EXPECT_EQ(decode_json_string(R"("a\"\\\/\b\f\n\r\t")"), "a\"\\/\b\f\n\r\t");
    EXPECT_EQ(decode_json_string(R"("\u0041\u00e9\u20AC\uD83D\uDE00é")"), "A\u00e9\u20ac\U0001F600\u00e9");
    EXPECT_EQ(decode_json_string(R"("a\u0000b")"), std::string("a\0b", 3));
}

TEST(JsonScan, RefusesHalfASurrogatePair)
{
    for (const char *text : {R"("\ud800")", R"("\udc00")", R"("\ud800\ud800")", R"("\ud800x")", R"("\ud83d\u0041")"}) {
        EXPECT_THROW(decode_json_string(text), JsonError) << text;
    }
}

} // namespace
} // namespace idem::cli::test
