#include "exclusion.h"

#include "canonical.h"
#include "error_of.h"
#include "json_tree.h"

#include <gtest/gtest.h>

namespace idem::core::test {
namespace {

using Paths = std::vector<std::string>;

constexpr char kMalformed[] = "exclude holds a malformed path";

// The detail of the refusal of one path; empty where it is accepted.
std::string refusal(const std::string &path)
{
    const auto error = error_of([&] { Exclusions{{path}}; });
    EXPECT_TRUE(!error || is_error(error, "22023", kMalformed)) << path;
    return error ? error->detail() : "";
}

// The canonical form of what is left of a document.
std::string left_of(const JsonTree &tree, const Paths &paths)
{
    const Exclusions exclusions(paths);
    std::string out;
    append_canonical(out, Pruned<JsonTree>(tree, exclusions.root()));
    return out;
}

JsonTree one()
{
    return number("1");
}

TEST(Exclusions, AcceptEveryFormOfPath)
{
    for (const char *path :
         {"$.a", "$.A_9", "$._", "$.9", "$.a.b.c", "$.a[*].b", "$.a[*][*].b", "$[*].a", R"($."a")", R"($."a b".c)",
          R"($."")", R"($."a.b[*]")", R"($."q\"q")", R"($."b\\b")", "$.\"gr\u00fc\u00df\"", "$.\"\x7f\""}) {
        EXPECT_EQ(refusal(path), "") << path;
        EXPECT_EQ(Exclusions({path}).text(), path);
        EXPECT_FALSE(Exclusions({path}).empty());
    }
}

TEST(Exclusions, RefuseAPathThatDoesNotStartAtTheRoot)
{
    for (const char *path : {"", "a", ".a", " $.a", "[*].a", "\"a\"", "@.a", "lax $.a"}) {
        EXPECT_EQ(refusal(path), "A path must start with $.") << path;
    }
}

TEST(Exclusions, RefuseAPathThatDoesNotEndInAName)
{
    for (const char *path : {"$", "$[*]", "$.a[*]", "$[*][*]"}) {
        EXPECT_EQ(refusal(path), "A path must end with the name of a member.") << path;
    }
}

TEST(Exclusions, RefuseOtherSteps)
{
    for (const char *path : {"$a", "$.a[0]", "$.a[0].b", "$.a[].b", "$.a[", "$.a[*", "$.a[ * ].b", "$.a-b", "$.a b",
                             "$.a ", "$.a\n", "$[\"a\"]", "$.a?(@ > 1)", "$.\"a\"b", "$.gr\u00fc\u00df", "$.a$b"}) {
        EXPECT_EQ(refusal(path), "After $ come .name for a member and [*] for all elements of an array.") << path;
    }
}

TEST(Exclusions, RefuseAMissingName)
{
    for (const char *path : {"$.", "$..a", "$.a.", "$.a..b", "$.*", "$.[*]", "$.-", "$.\u00fc", "$. a"}) {
        EXPECT_EQ(refusal(path),
                  "A name must follow each dot; one with other characters than A-Z, a-z, 0-9 and _ stands in quotes.")
            << path;
    }
}

TEST(Exclusions, RefuseMalformedQuotes)
{
    for (const char *path : {R"($.")", R"($."a)", R"($."a\")", R"($.a.")"}) {
        EXPECT_EQ(refusal(path), "A quoted name does not end.") << path;
    }
    for (const char *path : {R"($."\n")", R"($."\u0041")", R"($."a\)", R"($."\'")"}) {
        EXPECT_EQ(refusal(path), "A backslash in a quoted name stands before a quote or another backslash.") << path;
    }
}

TEST(Exclusions, RefuseControlCharactersWhichWouldEndALineOfTheList)
{
    for (char control = 0; control < 0x20; ++control) {
        EXPECT_EQ(refusal(std::string("$.\"a") + control + "b\""), "A name must not contain control characters.");
    }
    EXPECT_EQ(refusal("$.a\n$.b"), "After $ come .name for a member and [*] for all elements of an array.");
}

TEST(Exclusions, SayHowPathsAreWritten)
{
    const auto error = error_of([] { Exclusions{{"a"}}; });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->hint(), "Write paths such as $.sent_at, $.meta.\"trace id\" or $.lines[*].seen_at.");
}

TEST(Exclusions, RefuseOneMalformedPathAmongOthers)
{
    EXPECT_TRUE(is_error(error_of([] { Exclusions({"$.a", "$.b", "c"}); }), "22023", kMalformed));
}

TEST(Exclusions, AreLimitedToAThousandOctetsTogether)
{
    const std::string path = "$." + std::string(498, 'a'); // 500 octets
    EXPECT_EQ(Exclusions({path, "$." + std::string(497, 'b')}).text().size(), 1000U);
    const auto error = error_of([&] { Exclusions({path, "$." + std::string(498, 'b')}); });
    ASSERT_TRUE(is_error(error, "22023", "exclude is too long"));
    EXPECT_EQ(error->detail(), "The limit is 1000 octets for all paths together.");
    EXPECT_EQ(Exclusions({path, path, path}).text().size(), 500U) << "one path counts once";
}

TEST(Exclusions, AreEqualInAnyOrderAndNumber)
{
    const std::string text = Exclusions({"$.a", "$.b.c", "$[*].d"}).text();
    EXPECT_EQ(text, "$.a\n$.b.c\n$[*].d");
    EXPECT_EQ(Exclusions({"$[*].d", "$.b.c", "$.a"}).text(), text);
    EXPECT_EQ(Exclusions({"$.b.c", "$.a", "$.b.c", "$[*].d", "$.a"}).text(), text);
    EXPECT_TRUE(Exclusions(Paths{}).empty());
    EXPECT_TRUE(Exclusions().empty());
}

TEST(Exclusions, ComeBackFromTheirText)
{
    for (const Paths &paths : {Paths{}, Paths{"$.a"}, Paths{"$.a", "$.b[*].\"c d\"", R"($."x\\\"")"}}) {
        const Exclusions exclusions(paths);
        EXPECT_EQ(Exclusions::from_text(exclusions.text()).text(), exclusions.text());
    }
    for (const char *text : {"x", "$.a\n", "$.a\n\n$.b", "\n$.a", "$.b\n$"}) {
        const auto error = error_of([&] { Exclusions::from_text(text); });
        EXPECT_EQ(std::string(text) == "$.a\n", !error) << text;
    }
}

TEST(Pruned, LeavesOutAMemberWithAllThatItHolds)
{
    const JsonTree tree = object({{"a", object({{"x", one()}})}, {"b", one()}, {"ab", one()}});
    EXPECT_EQ(left_of(tree, {"$.a"}), R"({"ab":1,"b":1})");
    EXPECT_EQ(left_of(tree, {"$.a", "$.ab", "$.b"}), "{}");
    EXPECT_EQ(left_of(tree, {}), R"({"a":{"x":1},"ab":1,"b":1})");
}

TEST(Pruned, LooksIntoObjectsAndArrays)
{
    const JsonTree tree = object(
        {{"m", object({{"t", one()}, {"k", one()}})},
         {"l", array({object({{"t", one()}, {"k", number("2")}}), one(), null(), array({object({{"t", one()}})})})}});
    EXPECT_EQ(left_of(tree, {"$.m.t"}), R"({"l":[{"k":2,"t":1},1,null,[{"t":1}]],"m":{"k":1}})");
    EXPECT_EQ(left_of(tree, {"$.l[*].t"}), R"({"l":[{"k":2},1,null,[{"t":1}]],"m":{"k":1,"t":1}})");
    EXPECT_EQ(left_of(tree, {"$.l[*][*].t"}), R"({"l":[{"k":2,"t":1},1,null,[{}]],"m":{"k":1,"t":1}})");
    EXPECT_EQ(left_of(tree, {"$.l", "$.l[*].t", "$.m.t"}), R"({"m":{"k":1}})");
}

TEST(Pruned, DropsNoElementOfAnArray)
{
    const JsonTree tree = object({{"l", array({object({{"t", one()}}), object({{"t", one()}})})}});
    EXPECT_EQ(left_of(tree, {"$.l[*].t"}), R"({"l":[{},{}]})");
}

TEST(Pruned, IgnoresWhatIsNotThere)
{
    const JsonTree tree = object({{"a", one()}, {"o", object({})}, {"l", array({})}, {"n", null()}});
    const std::string all = R"({"a":1,"l":[],"n":null,"o":{}})";
    for (const char *path :
         {"$.b", "$.A", "$.a.b", "$.a[*].b", "$.o.b", "$.o[*].b", "$.l[*].b", "$.l.b", "$.n.b", "$[*].a", R"($."")"}) {
        EXPECT_EQ(left_of(tree, {path}), all) << path;
    }
}

TEST(Pruned, AppliesAtEveryDepthTheRuleOfThatDepth)
{
    const JsonTree tree = object({{"a", object({{"a", object({{"a", one()}, {"b", one()}})}})}});
    EXPECT_EQ(left_of(tree, {"$.a.a.a"}), R"({"a":{"a":{"b":1}}})");
    EXPECT_EQ(left_of(tree, {"$.a.a"}), R"({"a":{}})");
    EXPECT_EQ(left_of(tree, {"$.b"}), R"({"a":{"a":{"a":1,"b":1}}})");
}

TEST(Pruned, TellsNamesInQuotesFromSteps)
{
    const JsonTree tree = object({{"a.b", one()}, {"a", object({{"b", one()}})}, {"q\"\\", one()}, {"", one()}});
    EXPECT_EQ(left_of(tree, {R"($."a.b")"}), R"({"":1,"a":{"b":1},"q\"\\":1})");
    EXPECT_EQ(left_of(tree, {R"($.a.b)", R"($."q\"\\")", R"($."")"}), R"({"a":{},"a.b":1})");
}

TEST(Pruned, WorksAtTheRootOfAnArray)
{
    EXPECT_EQ(left_of(array({object({{"t", one()}, {"k", one()}}), one()}), {"$[*].t"}), R"([{"k":1},1])");
    EXPECT_EQ(left_of(one(), {"$.a"}), "1");
}

TEST(Pruned, PassesOnWhatChildThrows)
{
    const JsonTree tree = object({{"a", guarded(array({one()}))}, {"t", one()}});
    EXPECT_TRUE(is_error(error_of([&] { left_of(tree, {"$.t"}); }), "54001", "nesting is too deep"));
    EXPECT_EQ(left_of(tree, {"$.a"}), R"({"t":1})") << "what is left out is not looked at";
}

} // namespace
} // namespace idem::core::test
