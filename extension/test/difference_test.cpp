#include "difference.h"

#include "canonical.h"
#include "error_of.h"
#include "json_tree.h"
#include "random_json.h"

#include <gtest/gtest.h>

namespace idem::core::test {
namespace {

using Paths = std::vector<std::string>;

// All paths at which two documents differ.
Paths paths(const JsonTree &stored, const JsonTree &sent)
{
    Differences differences(1000);
    differences.compare(stored, sent);
    EXPECT_FALSE(differences.more());
    return differences.paths();
}

// The path of a member with this name, which only one side has.
std::string path_of(const std::string &name)
{
    return paths(object({{name, null()}}), object({})).at(0);
}

// The canonical form of a document.
std::string canonical(const JsonTree &tree)
{
    std::string out;
    append_canonical(out, tree);
    return out;
}

// An array of ones.
JsonTree ones(size_t count)
{
    return array(std::vector<JsonTree>(count, number("1")));
}

TEST(Differences, AreNoneBetweenEqualDocuments)
{
    const JsonTree tree = object({{"a", array({number("1"), null(), boolean(true), text("x")})}, {"b", object({})}});
    EXPECT_EQ(paths(tree, tree), Paths{});
    EXPECT_EQ(paths(object({}), object({})), Paths{});
    EXPECT_EQ(paths(array({}), array({})), Paths{});
    EXPECT_EQ(paths(null(), null()), Paths{});
}

TEST(Differences, IgnoreMemberOrder)
{
    EXPECT_EQ(paths(object({{"a", number("1")}, {"b", number("2")}}), object({{"b", number("2")}, {"a", number("1")}})),
              Paths{});
}

TEST(Differences, IgnoreHowANumberIsWritten)
{
    for (const char *same : {"1.0", "1.00", "1e0", "10e-1"}) {
        EXPECT_EQ(paths(object({{"v", number("1")}}), object({{"v", number(same)}})), Paths{}) << same;
    }
    EXPECT_EQ(paths(number("0"), number("-0.0")), Paths{});
}

TEST(Differences, NameAScalarThatChanged)
{
    const auto changed = [](const JsonTree &stored, const JsonTree &sent) {
        return paths(object({{"v", stored}}), object({{"v", sent}})) == Paths{"$.v"};
    };
    EXPECT_TRUE(changed(number("1"), number("2")));
    EXPECT_TRUE(changed(number("1"), number("-1")));
    EXPECT_TRUE(changed(number("9007199254740992"), number("9007199254740993")));
    EXPECT_TRUE(changed(text("a"), text("b")));
    EXPECT_TRUE(changed(text("a"), text("A")));
    EXPECT_TRUE(changed(text(""), text(" ")));
    EXPECT_TRUE(changed(boolean(true), boolean(false)));
    EXPECT_TRUE(changed(boolean(false), boolean(true)));
}

TEST(Differences, NameAValueOfAnotherType)
{
    const std::vector<JsonTree> values = {null(), boolean(false), number("0"), text(""), array({}), object({})};
    for (const JsonTree &stored : values) {
        for (const JsonTree &sent : values) {
            const bool same = stored.kind() == sent.kind();
            EXPECT_EQ(paths(object({{"v", stored}}), object({{"v", sent}})), same ? Paths{} : Paths{"$.v"});
            EXPECT_EQ(paths(stored, sent), same ? Paths{} : Paths{"$"});
        }
    }
}

TEST(Differences, NameOnlyTheTopOfAValueThatChangedItsType)
{
    EXPECT_EQ(paths(object({{"v", object({{"a", null()}, {"b", null()}})}}), object({{"v", ones(3)}})), Paths{"$.v"});
}

TEST(Differences, NameMembersThatOneSideLacks)
{
    const JsonTree both = object({{"a", null()}, {"b", null()}, {"c", null()}});
    EXPECT_EQ(paths(both, object({})), (Paths{"$.a", "$.b", "$.c"}));
    EXPECT_EQ(paths(object({}), both), (Paths{"$.a", "$.b", "$.c"}));
    EXPECT_EQ(paths(both, object({{"b", null()}})), (Paths{"$.a", "$.c"}));
    EXPECT_EQ(paths(object({{"b", null()}}), both), (Paths{"$.a", "$.c"}));
    EXPECT_EQ(paths(object({{"a", null()}, {"c", null()}}), object({{"b", null()}, {"d", null()}})),
              (Paths{"$.a", "$.b", "$.c", "$.d"}));
}

TEST(Differences, KeepANullMemberApartFromAMissingOne)
{
    EXPECT_EQ(paths(object({{"a", null()}}), object({})), Paths{"$.a"});
}

TEST(Differences, GoOnBehindAMemberThatOneSideLacks)
{
    EXPECT_EQ(paths(object({{"a", null()}, {"b", number("1")}, {"c", number("1")}}),
                    object({{"b", number("1")}, {"c", number("2")}})),
              (Paths{"$.a", "$.c"}));
}

TEST(Differences, ComeInCanonicalOrder)
{
    const JsonTree stored = object({{"\ufb33", number("1")},
                                    {"b", number("1")},
                                    {"\U0001f600", number("1")},
                                    {"aa", number("1")},
                                    {"a", number("1")}});
    EXPECT_EQ(paths(stored, object({})), (Paths{"$.a", "$.aa", "$.b", "$.\"\U0001f600\"", "$.\"\ufb33\""}));
}

TEST(Differences, NameElements)
{
    EXPECT_EQ(paths(array({number("1"), number("2"), number("3")}), array({number("9"), number("2"), number("4")})),
              (Paths{"$[0]", "$[2]"}));
    EXPECT_EQ(paths(array({number("1"), number("2")}), array({number("2"), number("1")})), (Paths{"$[0]", "$[1]"}));
}

TEST(Differences, NameTheFirstElementThatOneSideLacks)
{
    EXPECT_EQ(paths(ones(1), ones(3)), Paths{"$[1]"});
    EXPECT_EQ(paths(ones(3), ones(1)), Paths{"$[1]"});
    EXPECT_EQ(paths(ones(0), ones(1)), Paths{"$[0]"});
    EXPECT_EQ(paths(ones(12), ones(11)), Paths{"$[11]"});
    EXPECT_EQ(paths(array({number("2")}), ones(2)), (Paths{"$[0]", "$[1]"}));
}

TEST(Differences, ReachEveryLevel)
{
    const auto order = [](const char *qty, const char *zip) {
        return object({{"lines", array({object({{"qty", number("1")}}), object({{"qty", number(qty)}})})},
                       {"to", object({{"zip", text(zip)}})}});
    };
    EXPECT_EQ(paths(order("2", "x"), order("3", "y")), (Paths{"$.lines[1].qty", "$.to.zip"}));
    EXPECT_EQ(paths(array({array({ones(1)})}), array({array({ones(2)})})), Paths{"$[0][0][1]"});
}

TEST(Differences, StopAtTheLimit)
{
    const JsonTree three = object({{"a", null()}, {"b", null()}, {"c", null()}});
    const auto compare = [&](size_t limit) {
        Differences differences(limit);
        differences.compare(three, object({}));
        return std::pair(differences.paths(), differences.more());
    };
    EXPECT_EQ(compare(0), std::pair(Paths{}, true));
    EXPECT_EQ(compare(1), std::pair(Paths{"$.a"}, true));
    EXPECT_EQ(compare(2), std::pair(Paths{"$.a", "$.b"}, true));
    EXPECT_EQ(compare(3), std::pair(Paths{"$.a", "$.b", "$.c"}, false));
    EXPECT_EQ(compare(4), std::pair(Paths{"$.a", "$.b", "$.c"}, false));
}

TEST(Differences, StopAtTheLimitInsideArraysAndNestedObjects)
{
    const auto compare = [](const JsonTree &stored, const JsonTree &sent) {
        Differences differences(2);
        differences.compare(stored, sent);
        return std::pair(differences.paths(), differences.more());
    };
    const JsonTree twos = array(std::vector<JsonTree>(3, number("2")));
    EXPECT_EQ(compare(ones(3), twos), std::pair(Paths{"$[0]", "$[1]"}, true));
    EXPECT_EQ(compare(ones(2), twos), std::pair(Paths{"$[0]", "$[1]"}, true));
    EXPECT_EQ(compare(ones(1), twos), std::pair(Paths{"$[0]", "$[1]"}, false));
    EXPECT_EQ(compare(object({{"a", ones(2)}, {"b", null()}}), object({{"a", array({null(), null()})}, {"b", null()}})),
              std::pair(Paths{"$.a[0]", "$.a[1]"}, false));
    EXPECT_EQ(compare(object({{"a", ones(2)}, {"b", null()}}), object({{"a", array({null(), null()})}})),
              std::pair(Paths{"$.a[0]", "$.a[1]"}, true));
}

// What lies behind the limit is not even read: a guard there is never asked.
TEST(Differences, ReadNothingBehindTheLimit)
{
    const JsonTree deep = guarded(ones(1));
    Differences differences(1);
    differences.compare(array({null(), null(), deep}), array({number("1"), number("1"), deep}));
    EXPECT_EQ(differences.paths(), Paths{"$[0]"});
    EXPECT_TRUE(differences.more());

    Differences members(1);
    members.compare(guarded(object({{"a", null()}, {"b", null()}, {"c", null()}})), object({{"c", null()}}));
    EXPECT_EQ(members.paths(), Paths{"$.a"});
    EXPECT_TRUE(members.more());
}

TEST(Differences, PassOnTheNestingGuard)
{
    const JsonTree deep = guarded(ones(1));
    Differences differences(5);
    EXPECT_TRUE(is_error(error_of([&] {
                             differences.compare(object({{"a", ones(1)}}), object({{"a", deep}}));
                         }),
                         sqlstate::kTooComplex, "nesting is too deep"));
    EXPECT_TRUE(
        is_error(error_of([&] { differences.compare(deep, ones(1)); }), sqlstate::kTooComplex, "nesting is too deep"));
}

// The paths at which two objects differ in the members with these names.
Paths paths_in(const JsonTree &stored, const JsonTree &sent, const Differences::Names &names)
{
    Differences differences(1000);
    differences.compare_members(stored, sent, names);
    return differences.paths();
}

TEST(DifferencesOfMembers, AreOnlyThoseOfTheNames)
{
    const JsonTree stored = object({{"a", number("1")}, {"b", number("1")}, {"c", text("x")}, {"id", number("7")}});
    const JsonTree sent = object({{"a", number("2")}, {"b", number("1.0")}, {"c", text("y")}, {"id", null()}});
    EXPECT_EQ(paths_in(stored, sent, {"a", "b", "c"}), (Paths{"$.a", "$.c"}));
    EXPECT_EQ(paths_in(stored, sent, {"b"}), Paths{});
    EXPECT_EQ(paths_in(stored, sent, {}), Paths{});
    EXPECT_EQ(paths_in(stored, sent, {"id"}), Paths{"$.id"});
}

TEST(DifferencesOfMembers, LookAtAllOfAMember)
{
    const JsonTree stored = object({{"m", object({{"a", number("1")}, {"b", array({null()})}})}, {"a", number("1")}});
    const JsonTree sent = object({{"m", object({{"a", number("2")}, {"b", array({})}})}, {"a", number("2")}});
    EXPECT_EQ(paths_in(stored, sent, {"m"}), (Paths{"$.m.a", "$.m.b[0]"})) << "names count at the top alone";
}

TEST(DifferencesOfMembers, NameWhatOneSideLacks)
{
    EXPECT_EQ(paths_in(object({{"a", null()}}), object({{"b", null()}}), {"a", "b", "c"}), (Paths{"$.a", "$.b"}));
    EXPECT_EQ(paths_in(object({{"a", null()}}), object({{"b", null()}}), {"b"}), Paths{"$.b"});
}

TEST(DifferencesOfMembers, StopAtTheLimit)
{
    const JsonTree stored = object({{"a", null()}, {"b", null()}, {"z", null()}});
    Differences differences(1);
    differences.compare_members(stored, object({}), {"a"});
    EXPECT_EQ(differences.paths(), Paths{"$.a"});
    EXPECT_FALSE(differences.more()) << "what is not looked at is no further difference";
    Differences further(1);
    further.compare_members(stored, object({}), {"a", "z"});
    EXPECT_EQ(further.paths(), Paths{"$.a"});
    EXPECT_TRUE(further.more());
}

TEST(DifferencePath, WritesIdentifiersPlain)
{
    for (const char *name : {"a", "Z", "_", "a1", "_9", "lineItems", "order_ref"}) {
        EXPECT_EQ(path_of(name), std::string("$.") + name);
    }
}

TEST(DifferencePath, QuotesEveryOtherName)
{
    for (const char *name :
         {"", "1", "1a", "a.b", "a b", " ", "a-b", "a[0]", "$", "*", "@", "`", "{", "/", ":", "\u00e9"}) {
        EXPECT_EQ(path_of(name), "$.\"" + std::string(name) + "\"");
    }
    EXPECT_EQ(path_of("a\"b\\c"), R"($."a\"b\\c")");
}

TEST(DifferencePath, EscapesControlCharacters)
{
    EXPECT_EQ(path_of("a\nb"), R"($."a\nb")");
    EXPECT_EQ(path_of(std::string("\0", 1)), R"($."\u0000")");
    EXPECT_EQ(path_of("\x1b[2J"), R"($."\u001b[2J")");
}

TEST(DifferencePath, EscapesControlCharactersThatJsonLeavesAlone)
{
    EXPECT_EQ(path_of("\x7f"), R"($."\u007f")");
    EXPECT_EQ(path_of("a\u009b2Jb"), R"($."a\u009b2Jb")");
    for (char32_t control = 0x80; control < 0xA0; ++control) {
        const char last = "0123456789abcdef"[control % 16];
        EXPECT_EQ(path_of(utf8(control)), std::string("$.\"\\u00") + (control < 0x90 ? '8' : '9') + last + "\"");
    }
    EXPECT_EQ(path_of("a\u2028b\u2029"), R"($."a\u2028b\u2029")");
    for (const char *name : {"\u00a0", "\u00bf", "\u00c2", "\u2027", "\u202a", "\u2068", "\u3028", "~"}) {
        EXPECT_EQ(path_of(name), "$.\"" + std::string(name) + "\"");
    }
}

TEST(DifferencePath, KeepsUpToAHundredAndSixtyOctets)
{
    EXPECT_EQ(path_of(std::string(158, 'n')), "$." + std::string(158, 'n'));
    EXPECT_EQ(path_of(std::string(159, 'n')), "$." + std::string(158, 'n') + "...");
    EXPECT_EQ(path_of(std::string(5000, 'n')), "$." + std::string(158, 'n') + "...");
}

TEST(DifferencePath, IsCutBetweenCharacters)
{
    // $."xxx, then the character of one to four octets that crosses octet 160
    for (const char *character : {"\u00e9", "\u20ac", "\U0001f600"}) {
        const std::string unit = character;
        for (size_t before = 0; before <= unit.size(); ++before) {
            const std::string prefix(157 - before, 'x');
            std::string kept = "$.\"" + prefix;
            while (kept.size() + unit.size() <= 160) {
                kept += unit;
            }
            EXPECT_EQ(path_of(prefix + unit + unit + unit + unit), kept + "...") << before;
        }
    }
}

TEST(DifferencePath, ReturnsToItsParentAfterALongName)
{
    const std::string name(300, 'n');
    EXPECT_EQ(paths(object({{name, null()}, {"z", null()}}), object({})),
              (Paths{"$." + std::string(158, 'n') + "...", "$.z"}));
}

TEST(DifferencePath, NeverHoldsAValue)
{
    const auto tree = [](const std::string &value, const char *amount) {
        return object({{"s", text(value)}, {"n", number(amount)}, {"l", array({text(value), number(amount)})}});
    };
    const Paths found = paths(tree("SECRET-1", "7777.25"), tree("SECRET-2", "8888.25"));
    EXPECT_EQ(found, (Paths{"$.l[0]", "$.l[1]", "$.n", "$.s"}));
}

TEST(Differences, ExistExactlyWhereCanonicalFormsDiffer)
{
    RandomJson random(7);
    int equal = 0;
    for (int round = 0; round < 3000; ++round) {
        const JsonTree stored = random.document(3);
        const JsonTree sent = random.below(3) == 0 ? random.shuffled(stored) : random.document(3);
        const bool same = canonical(stored) == canonical(sent);
        equal += same ? 1 : 0;
        ASSERT_EQ(paths(stored, sent).empty(), same) << canonical(stored) << "\n" << canonical(sent);
        ASSERT_EQ(paths(stored, sent), paths(sent, stored));
    }
    EXPECT_GT(equal, 900);
    EXPECT_LT(equal, 2500);
}

} // namespace
} // namespace idem::core::test
