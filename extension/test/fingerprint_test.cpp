#include "fingerprint.h"

#include "error_of.h"
#include "hex.h"
#include "json_tree.h"
#include "random_json.h"

#include <gtest/gtest.h>
#include <limits>
#include <set>

namespace idem::core::test {
namespace {

constexpr RequestFields kFields{1000, "EUR", "create-transaction", std::nullopt};

TEST(Fingerprint, HasVersionOne)
{
    EXPECT_EQ(kHashVersion, 1);
}

TEST(Fingerprint, CoversOneCanonicalObject)
{
    EXPECT_EQ(
        canonical_request(kFields, object({})),
        R"({"amount_minor":1000,"currency":"EUR","details":{},"operation":"create-transaction","order_ref":null})");
    const RequestFields fields{std::numeric_limits<int64_t>::max(), "JPY", "refund", "o-1"};
    const JsonTree details = object(
        {{"\u20ac", number("0.10")}, {"items", array({object({{"sku", text("a\"b")}, {"qty", number("2.0")}})})}});
    EXPECT_EQ(canonical_request(fields, details),
              "{\"amount_minor\":9223372036854775807,\"currency\":\"JPY\",\"details\":{\"items\":[{\"qty\":2,\"sku\":"
              "\"a\\\"b\"}],\"\u20ac\":0.1},\"operation\":\"refund\",\"order_ref\":\"o-1\"}");
}

// The same object built as a document: the fixed parts are canonical as well.
TEST(Fingerprint, WritesTheFormOfTheWholeDocument)
{
    RandomJson random(6);
    for (int round = 0; round < 500; ++round) {
        const JsonTree details = random.document(3);
        const std::string order_ref = random.characters(10);
        const std::string operation = random.characters(10);
        std::string expected;
        append_canonical(expected, object({{"order_ref", text(order_ref)},
                                           {"operation", text(operation)},
                                           {"details", details},
                                           {"currency", text("USD")},
                                           {"amount_minor", number("42")}}));
        ASSERT_EQ(canonical_request({42, "USD", operation, order_ref}, details), expected);
    }
}

// Known answers, computed by another implementation of SHA-256 over the texts above.
TEST(Fingerprint, IsTheSha256OfThatText)
{
    EXPECT_EQ(hex(fingerprint(kFields, object({}))),
              "1d805be26e2a6b155bb51ec75f2c70e4f8abd7cf19ef45ca286b56d504f0ac94");
    const RequestFields fields{std::numeric_limits<int64_t>::max(), "JPY", "refund", "o-1"};
    const JsonTree details = object(
        {{"\u20ac", number("0.10")}, {"items", array({object({{"sku", text("a\"b")}, {"qty", number("2.0")}})})}});
    EXPECT_EQ(hex(fingerprint(fields, details)), "42958eea7d025c8a47edcc28d0901f3995d38e97ded80fbf87815cf4fb80f8ba");
}

TEST(Fingerprint, ChangesWithEveryField)
{
    const JsonTree details = object({{"a", number("1")}});
    const std::set<Sha256> all = {
        fingerprint(kFields, details),
        fingerprint({1001, "EUR", "create-transaction", std::nullopt}, details),
        fingerprint({1000, "USD", "create-transaction", std::nullopt}, details),
        fingerprint({1000, "EUR", "refund", std::nullopt}, details),
        fingerprint({1000, "EUR", "create-transaction", "o-1"}, details),
        fingerprint({1000, "EUR", "create-transaction", "o-2"}, details),
        fingerprint(kFields, object({{"a", number("2")}})),
        fingerprint(kFields, object({{"a", text("1")}})),
        fingerprint(kFields, object({{"a", null()}})),
        fingerprint(kFields, object({{"b", number("1")}})),
        fingerprint(kFields, object({})),
    };
    EXPECT_EQ(all.size(), 11U);
}

TEST(Fingerprint, KeepsAMissingOrderRefApartFromEveryText)
{
    const Sha256 none = fingerprint(kFields, object({}));
    for (const char *order_ref : {"", "null", "\"null\""}) {
        EXPECT_NE(fingerprint({1000, "EUR", "create-transaction", order_ref}, object({})), none) << order_ref;
    }
}

TEST(Fingerprint, CannotBeForgedByTextThatLooksLikeJson)
{
    EXPECT_NE(fingerprint({1, "EUR", "a\",\"order_ref\":\"b", std::nullopt}, object({})),
              fingerprint({1, "EUR", "a", "b"}, object({})));
    EXPECT_EQ(
        canonical_request({1, "EUR", "a\",\"order_ref\":\"b", std::nullopt}, object({})),
        R"({"amount_minor":1,"currency":"EUR","details":{},"operation":"a\",\"order_ref\":\"b","order_ref":null})");
}

TEST(Fingerprint, IgnoresHowNumbersAreWritten)
{
    const Sha256 one = fingerprint(kFields, object({{"v", number("1")}}));
    for (const char *same : {"1.0", "1.00", "1e0", "10e-1"}) {
        EXPECT_EQ(fingerprint(kFields, object({{"v", number(same)}})), one) << same;
    }
    EXPECT_NE(fingerprint(kFields, object({{"v", number("9007199254740992")}})),
              fingerprint(kFields, object({{"v", number("9007199254740993")}})));
}

TEST(Fingerprint, IgnoresMemberOrder)
{
    EXPECT_EQ(fingerprint(kFields, object({{"a", number("1")}, {"b", number("2")}})),
              fingerprint(kFields, object({{"b", number("2")}, {"a", number("1")}})));
}

TEST(Fingerprint, PassesOnTheNestingGuard)
{
    const JsonTree details = guarded(object({{"a", null()}}));
    EXPECT_TRUE(is_error(error_of([&] { fingerprint(kFields, details); }), "54001", "nesting is too deep"));
}

} // namespace
} // namespace idem::core::test
