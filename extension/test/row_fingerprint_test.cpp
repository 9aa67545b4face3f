#include "row_fingerprint.h"

#include "error_of.h"
#include "json_tree.h"

#include <gtest/gtest.h>

namespace idem::core::test {
namespace {

JsonTree row(const char *amount, const char *sent_at)
{
    return object({{"amount", number(amount)}, {"sent_at", text(sent_at)}});
}

std::string stored_with(const JsonTree &row, const Exclusions &exclusions)
{
    return row_fingerprint("pay", row, exclusions);
}

// Whether `sent`, which comes while `now` is in force, is a retry of what `stored` was made of.
bool matches(const std::string &stored, const JsonTree &sent, const Exclusions &now)
{
    return same_row(stored, row_fingerprint("pay", sent, now), "pay", sent);
}

TEST(RowFingerprint, IsOfOperationAndRow)
{
    EXPECT_EQ(canonical_row("p\"y", object({{"b", number("1.50")}, {"a", null()}})),
              R"({"operation":"p\"y","row":{"a":null,"b":1.5}})");
}

TEST(RowFingerprint, HoldsVersionHashAndExclusions)
{
    const JsonTree sent = row("1", "noon");
    const std::string plain = stored_with(sent, {});
    ASSERT_EQ(plain.size(), 33U);
    EXPECT_EQ(plain[0], '\x01');
    const Sha256 hash = sha256(R"({"operation":"pay","row":{"amount":1,"sent_at":"noon"}})");
    EXPECT_EQ(plain.substr(1), std::string(hash.begin(), hash.end()));

    const Exclusions exclusions({"$.sent_at", "$.meta"});
    const std::string pruned = stored_with(sent, exclusions);
    EXPECT_EQ(pruned.substr(33), "$.meta\n$.sent_at");
    const Sha256 rest = sha256(R"({"operation":"pay","row":{"amount":1}})");
    EXPECT_EQ(pruned.substr(1, 32), std::string(rest.begin(), rest.end()));
}

TEST(RowFingerprint, DependsOnTheOperation)
{
    EXPECT_NE(row_fingerprint("pay", object({}), {}), row_fingerprint("refund", object({}), {}));
}

TEST(RowFingerprint, MatchesARetry)
{
    const std::string stored = stored_with(row("1", "noon"), {});
    EXPECT_TRUE(matches(stored, row("1.0", "noon"), {}));
    EXPECT_FALSE(matches(stored, row("2", "noon"), {}));
    EXPECT_FALSE(matches(stored, row("1", "one"), {}));
}

TEST(RowFingerprint, MatchesARetryWhateverIsExcludedSince)
{
    const std::vector<Exclusions> lists = [] {
        std::vector<Exclusions> made;
        for (const std::vector<std::string> &paths :
             {std::vector<std::string>{}, {"$.sent_at"}, {"$.amount"}, {"$.sent_at", "$.amount"}, {"$.meta[*].x"}}) {
            made.emplace_back(paths);
        }
        return made;
    }();
    for (const Exclusions &then : lists) {
        const std::string stored = stored_with(row("1", "noon"), then);
        for (const Exclusions &now : lists) {
            EXPECT_TRUE(matches(stored, row("1", "noon"), now)) << then.text() << " / " << now.text();
        }
    }
}

TEST(RowFingerprint, IsComparedByTheExclusionsOfItsOwnTime)
{
    const Exclusions none;
    const Exclusions sent_at({"$.sent_at"});
    EXPECT_FALSE(matches(stored_with(row("1", "noon"), none), row("1", "one"), sent_at));
    EXPECT_TRUE(matches(stored_with(row("1", "noon"), sent_at), row("1", "one"), none));
    EXPECT_FALSE(matches(stored_with(row("1", "noon"), sent_at), row("2", "noon"), none));
}

TEST(RowFingerprint, MatchesWhereTheListWasWrittenInAnotherOrder)
{
    const std::string stored = stored_with(row("1", "noon"), Exclusions({"$.sent_at", "$.a"}));
    EXPECT_EQ(stored, stored_with(row("1", "one"), Exclusions({"$.a", "$.sent_at", "$.a"})));
}

TEST(RowFingerprint, MatchesWhereAnExcludedMemberIsMissing)
{
    const Exclusions exclusions({"$.sent_at"});
    const JsonTree without = object({{"amount", number("1")}});
    EXPECT_TRUE(matches(stored_with(row("1", "noon"), exclusions), without, exclusions));
    EXPECT_TRUE(matches(stored_with(without, exclusions), row("1", "noon"), exclusions));
    EXPECT_FALSE(matches(stored_with(without, {}), row("1", "noon"), exclusions));
}

TEST(StoredExclusions, RefuseWhatIsTooShort)
{
    for (const size_t size : {0U, 1U, 16U, 32U}) {
        const auto error = error_of([&] { stored_exclusions(std::string(size, '\x01')); });
        ASSERT_TRUE(is_error(error, "55000", "the stored fingerprint is not one of idem's")) << size;
        EXPECT_EQ(error->detail(), "It has " + std::to_string(size) + " octets; 33 are the least.");
        EXPECT_EQ(error->hint(), "Keep fingerprints of other origin in another column.");
    }
}

TEST(StoredExclusions, RefuseAnotherVersion)
{
    for (const int version : {0, 2, 127, 128, 255}) {
        const std::string stored = static_cast<char>(version) + std::string(32, 'x');
        EXPECT_TRUE(is_error(error_of([&] { stored_exclusions(stored); }), "55000",
                             "the stored fingerprint has the unknown version " + std::to_string(version)));
    }
}

TEST(StoredExclusions, RefuseWhatIsNoListOfPaths)
{
    const std::string head = "\x01" + std::string(32, 'x');
    EXPECT_TRUE(stored_exclusions(head).empty());
    for (const std::string &tail : {std::string("x"), std::string("$"), std::string("$.a\n\n$.b"),
                                    std::string("\xff\0", 2), "$." + std::string(2000, 'a')}) {
        const auto error = error_of([&] { stored_exclusions(head + tail); });
        ASSERT_TRUE(is_error(error, "55000", "the stored fingerprint is not one of idem's"));
        EXPECT_EQ(error->detail(), "What follows its 33 octets is no list of exclusions.");
    }
}

TEST(StoredExclusions, AreNotLookedAtWhereTheFingerprintIsTheSame)
{
    EXPECT_TRUE(same_row("odd", "odd", "pay", object({})));
    EXPECT_TRUE(is_error(error_of([] { (void)same_row("odd", "other", "pay", object({})); }), "55000",
                         "the stored fingerprint is not one of idem's"));
}

} // namespace
} // namespace idem::core::test
