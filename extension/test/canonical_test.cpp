#include "canonical.h"

#include "error_of.h"
#include "json_tree.h"
#include "random_json.h"

#include <gtest/gtest.h>

namespace idem::core::test {
namespace {

// The canonical form of a document.
std::string canonical(const JsonTree &tree)
{
    std::string out;
    append_canonical(out, tree);
    return out;
}

// A text as a canonical JSON string.
std::string escaped(std::string_view value)
{
    std::string out;
    append_string(out, value);
    return out;
}

TEST(CanonicalString, EscapesQuoteAndBackslash)
{
    EXPECT_EQ(escaped("\""), R"("\"")");
    EXPECT_EQ(escaped("\\"), R"("\\")");
    EXPECT_EQ(escaped("a\"b\\c"), R"("a\"b\\c")");
    EXPECT_EQ(escaped("\\\\\"\""), R"("\\\\\"\"")");
}

TEST(CanonicalString, EscapesEveryControlCharacterBelowSpace)
{
    const std::vector<std::string> expected = {
        "\\u0000", "\\u0001", "\\u0002", "\\u0003", "\\u0004", "\\u0005", "\\u0006", "\\u0007",
        "\\b",     "\\t",     "\\n",     "\\u000b", "\\f",     "\\r",     "\\u000e", "\\u000f",
        "\\u0010", "\\u0011", "\\u0012", "\\u0013", "\\u0014", "\\u0015", "\\u0016", "\\u0017",
        "\\u0018", "\\u0019", "\\u001a", "\\u001b", "\\u001c", "\\u001d", "\\u001e", "\\u001f"};
    for (size_t octet = 0; octet < expected.size(); ++octet) {
        EXPECT_EQ(escaped(std::string(1, static_cast<char>(octet))), "\"" + expected[octet] + "\"");
    }
}

TEST(CanonicalString, LeavesEveryOtherCharacterAlone)
{
    for (int octet = 0x20; octet < 0x80; ++octet) {
        if (octet != '"' && octet != '\\') {
            const std::string text(1, static_cast<char>(octet));
            EXPECT_EQ(escaped(text), "\"" + text + "\"");
        }
    }
    for (const char *text : {"\u0080", "\u0085", "\u009f", "\u00e9", "\u2028", "\u2029", "\ufeff", "\uffff",
                             "\U00010000", "\U0001f600", "\U0010ffff"}) {
        EXPECT_EQ(escaped(text), "\"" + std::string(text) + "\"");
    }
}

TEST(CanonicalString, KeepsTextAroundEscapes)
{
    EXPECT_EQ(escaped(""), "\"\"");
    EXPECT_EQ(escaped("\nab\n\ncd\n"), R"("\nab\n\ncd\n")");
    EXPECT_EQ(escaped("\u20ac$\x0f\nA'B\"\\\\\"/"), "\"\u20ac$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"");
}

TEST(CanonicalString, KeepsTextBehindANul)
{
    EXPECT_EQ(escaped(std::string_view("a\0b", 3)), R"("a\u0000b")");
}

TEST(CanonicalString, DoesNotNormaliseUnicode)
{
    EXPECT_NE(escaped("\u00e9"), escaped("e\u0301"));
}

TEST(Canonical, WritesLiterals)
{
    EXPECT_EQ(canonical(null()), "null");
    EXPECT_EQ(canonical(boolean(true)), "true");
    EXPECT_EQ(canonical(boolean(false)), "false");
    EXPECT_EQ(canonical(text("null")), "\"null\"");
}

TEST(Canonical, WritesContainersWithoutBlanks)
{
    EXPECT_EQ(canonical(array({})), "[]");
    EXPECT_EQ(canonical(object({})), "{}");
    EXPECT_EQ(canonical(array({number("1")})), "[1]");
    EXPECT_EQ(canonical(array({number("1"), null(), text("x")})), "[1,null,\"x\"]");
    EXPECT_EQ(canonical(object({{"a", number("1")}})), R"({"a":1})");
    EXPECT_EQ(canonical(object({{"a", array({object({}), array({})})}, {"b", boolean(true)}})),
              R"({"a":[{},[]],"b":true})");
}

TEST(Canonical, KeepsTheOrderOfElements)
{
    EXPECT_EQ(canonical(array({number("2"), number("1"), number("3")})), "[2,1,3]");
}

TEST(Canonical, SortsMembersWithTheirValues)
{
    EXPECT_EQ(canonical(object({{"b", number("2")}, {"a", number("1")}, {"aa", number("3")}})),
              R"({"a":1,"aa":3,"b":2})");
    EXPECT_EQ(canonical(object({{"\ufb33", number("1")}, {"\U0001f600", number("2")}, {"\u20ac", number("3")}})),
              "{\"\u20ac\":3,\"\U0001f600\":2,\"\ufb33\":1}");
}

TEST(Canonical, SortsMembersAtEveryLevel)
{
    const JsonTree inner = object({{"z", null()}, {"y", null()}});
    EXPECT_EQ(canonical(object({{"b", array({inner})}, {"a", inner}})),
              R"({"a":{"y":null,"z":null},"b":[{"y":null,"z":null}]})");
}

TEST(Canonical, SortsNamesBeforeTheyAreEscaped)
{
    EXPECT_EQ(canonical(object({{"!", null()}, {"\"", null()}, {"\n", null()}, {"\\", null()}, {"[", null()}})),
              R"({"\n":null,"!":null,"\"":null,"[":null,"\\":null})");
}

TEST(Canonical, KeepsMembersThatAreNull)
{
    EXPECT_NE(canonical(object({{"a", null()}})), canonical(object({})));
}

TEST(Canonical, KeepsDigitsBeyondDouble)
{
    EXPECT_EQ(canonical(array({number("9007199254740993"), number("0.10000000000000000001")})),
              "[9007199254740993,0.10000000000000000001]");
}

TEST(Canonical, WritesEqualNumbersAlike)
{
    for (const char *one : {"1", "1.0", "1.00", "1e0", "10e-1"}) {
        EXPECT_EQ(canonical(object({{"v", number(one)}})), R"({"v":1})") << one;
    }
    for (const char *zero : {"0", "-0", "-0.0", "0e5", "0.000"}) {
        EXPECT_EQ(canonical(object({{"v", number(zero)}})), R"({"v":0})") << zero;
    }
}

TEST(Canonical, KeepsNumbersAndStringsApart)
{
    EXPECT_NE(canonical(number("1")), canonical(text("1")));
}

// The sample of RFC 8785 section 3.2.2; only the first number keeps a digit that a double has not.
TEST(Canonical, FollowsTheSampleOfRfc8785)
{
    const JsonTree sample = object({{"numbers", array({number("333333333.33333329"), number("1E30"), number("4.50"),
                                                       number("2e-3"), number("0.000000000000000000000000001")})},
                                    {"string", text("\u20ac$\x0f\nA'B\"\\\\\"/")},
                                    {"literals", array({null(), boolean(true), boolean(false)})}});
    EXPECT_EQ(canonical(sample), "{\"literals\":[null,true,false],"
                                 "\"numbers\":[333333333.33333329,1e+30,4.5,0.002,1e-27],"
                                 "\"string\":\"\u20ac$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}");
}

TEST(Canonical, AppendsBehindWhatIsThere)
{
    std::string out = "x";
    append_canonical(out, array({}));
    append_canonical(out, null());
    EXPECT_EQ(out, "x[]null");
}

TEST(Canonical, PassesOnTheNestingGuard)
{
    const JsonTree deep = guarded(array({number("1")}));
    for (const JsonTree &tree :
         {deep, array({null(), deep}), object({{"a", array({deep})}}), guarded(object({{"a", null()}}))}) {
        EXPECT_TRUE(is_error(error_of([&] { canonical(tree); }), sqlstate::kTooComplex, "nesting is too deep"));
    }
}

TEST(Canonical, WritesDeepNesting)
{
    JsonTree tree = array({});
    for (int level = 1; level < 1000; ++level) {
        tree = array({tree});
    }
    EXPECT_EQ(canonical(tree), std::string(1000, '[') + std::string(1000, ']'));
}

TEST(Canonical, DoesNotDependOnMemberOrder)
{
    RandomJson random(5);
    int moved = 0;
    for (int round = 0; round < 2000; ++round) {
        const JsonTree tree = random.document(5);
        const JsonTree other = random.shuffled(tree);
        ASSERT_EQ(canonical(tree), canonical(other));
        moved += tree.kind() == JsonKind::object && tree.size() > 1 && tree.name(0) != other.name(0) ? 1 : 0;
    }
    EXPECT_GT(moved, 100); // the documents did put the order to the test
}

} // namespace
} // namespace idem::core::test
