#include "request.h"

#include "errcodes.h"
#include "error_of.h"
#include "random_json.h"

#include <gtest/gtest.h>
#include <limits>
#include <string>

namespace idem::core::test {
namespace {

constexpr TextRule kRule{"some_text", 8};

// What an identifying text is refused with where the database encoding is UTF-8.
std::optional<Error> refusal(const TextRule &rule, std::string_view value)
{
    return error_of([&] {
        check_length(rule, value.size());
        check_characters(rule, value);
    });
}

// Whether a text passes as an idempotency key.
bool accepted(std::string_view value)
{
    return !refusal(kKeyRule, value);
}

// Whether a text is refused as an idempotency key with this message.
bool refused(std::string_view value, std::string_view message)
{
    return is_error(refusal(kKeyRule, value), "22023", message);
}

// Property White_Space of the Unicode Standard, less the control characters.
constexpr char32_t kBlanks[] = {0x20,   0xA0,   0x1680, 0x2000, 0x2001, 0x2002, 0x2003, 0x2004, 0x2005, 0x2006,
                                0x2007, 0x2008, 0x2009, 0x200A, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000};

TEST(TextRules, HaveTheDocumentedLimits)
{
    EXPECT_EQ(kTenantRule.max_octets, 255U);
    EXPECT_EQ(kKeyRule.max_octets, 255U);
    EXPECT_EQ(kOperationRule.max_octets, 100U);
    EXPECT_EQ(kOrderRefRule.max_octets, 255U);
    EXPECT_STREQ(kTenantRule.argument, "tenant_id");
    EXPECT_STREQ(kKeyRule.argument, "idempotency_key");
    EXPECT_STREQ(kOperationRule.argument, "operation");
    EXPECT_STREQ(kOrderRefRule.argument, "order_ref");
}

TEST(CheckText, NamesTheArgument)
{
    EXPECT_TRUE(is_error(refusal(kRule, ""), "22023", "some_text must not be empty"));
    EXPECT_TRUE(is_error(refusal(kRule, "123456789"), "22023", "some_text is too long"));
    EXPECT_TRUE(is_error(refusal(kRule, " a"), "22023", "some_text must not start with a blank"));
    EXPECT_TRUE(is_error(refusal(kRule, "a "), "22023", "some_text must not end with a blank"));
    EXPECT_TRUE(is_error(refusal(kRule, "a\n"), "22023", "some_text must not contain control characters"));
}

TEST(CheckText, AcceptsEveryLengthUpToTheLimit)
{
    for (const TextRule &rule : {kTenantRule, kKeyRule, kOperationRule, kOrderRefRule, kRule}) {
        for (size_t length = 1; length <= rule.max_octets; ++length) {
            ASSERT_FALSE(refusal(rule, std::string(length, 'x'))) << rule.argument << " " << length;
        }
        EXPECT_TRUE(refusal(rule, std::string(rule.max_octets + 1, 'x'))) << rule.argument;
        EXPECT_TRUE(refusal(rule, std::string(100000, 'x'))) << rule.argument;
    }
}

TEST(CheckText, SaysHowLongATextIs)
{
    const std::optional<Error> error = refusal(kKeyRule, std::string(256, 'x'));
    ASSERT_TRUE(error);
    EXPECT_EQ(error->detail(), "It has 256 octets; the limit is 255.");
}

TEST(CheckText, CountsOctetsAndNotCharacters)
{
    EXPECT_FALSE(refusal(kRule, "\u00e9\u00e9\u00e9\u00e9")); // 4 characters, 8 octets
    EXPECT_TRUE(refusal(kRule, "\u00e9\u00e9\u00e9\u00e9a")); // 5, 9
    EXPECT_FALSE(refusal(kRule, "\u20ac\u20acaa"));           // 4, 8
    EXPECT_TRUE(refusal(kRule, "\u20ac\u20ac\u20ac"));        // 3, 9
    EXPECT_FALSE(refusal(kRule, "\U0001f600\U0001f600"));     // 2, 8
    EXPECT_TRUE(refusal(kRule, "\U0001f600\U0001f600a"));     // 3, 9
}

TEST(CheckLength, GoesByTheOctetsItIsGiven)
{
    const auto check = [](size_t octets) { return error_of([&] { check_length(kRule, octets); }); };
    EXPECT_TRUE(is_error(check(0), "22023", "some_text must not be empty"));
    EXPECT_FALSE(check(1));
    EXPECT_FALSE(check(8));
    const std::optional<Error> error = check(9);
    EXPECT_TRUE(is_error(error, "22023", "some_text is too long"));
    EXPECT_EQ(error->detail(), "It has 9 octets; the limit is 8.");
}

// In a database in LATIN1 eight octets may be sixteen of UTF-8: the length is not for the characters to judge.
TEST(CheckCharacters, LeavesTheLengthAlone)
{
    EXPECT_FALSE(error_of([] { check_characters(kRule, "\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9"); }));
    EXPECT_FALSE(error_of([] { check_characters(kRule, ""); }));
}

TEST(CheckText, RefusesEveryBlankAtEitherEdge)
{
    for (const char32_t character : kBlanks) {
        const std::string blank = utf8(character);
        EXPECT_TRUE(refused(blank + "k", "idempotency_key must not start with a blank")) << std::hex << +character;
        EXPECT_TRUE(refused("k" + blank, "idempotency_key must not end with a blank")) << std::hex << +character;
        EXPECT_TRUE(refused(blank, "idempotency_key must not start with a blank")) << std::hex << +character;
    }
}

TEST(CheckText, AcceptsBlanksInside)
{
    for (const char32_t character : kBlanks) {
        EXPECT_TRUE(accepted("a" + utf8(character) + utf8(character) + "b")) << std::hex << +character;
    }
}

TEST(CheckText, RefusesControlCharactersAnywhere)
{
    const std::string message = "idempotency_key must not contain control characters";
    for (char32_t character = 0; character < 0xA0; character += character == 0x1F ? 0x60 : 1) {
        const std::string control = utf8(character);
        EXPECT_TRUE(refused(control, message)) << std::hex << +character;
        EXPECT_TRUE(refused(control + "k", message)) << std::hex << +character;
        EXPECT_TRUE(refused("k" + control, message)) << std::hex << +character;
        EXPECT_TRUE(refused("k" + control + "k", message)) << std::hex << +character;
    }
}

// Every code point but the surrogates, alone, at either edge and inside.
TEST(CheckText, AcceptsEveryOtherCharacterAnywhere)
{
    for (char32_t character = 0x21; character < 0x110000; ++character) {
        const bool surrogate = character >= 0xD800 && character < 0xE000;
        const bool control = character >= 0x7F && character < 0xA0;
        if (surrogate || control || std::find(std::begin(kBlanks), std::end(kBlanks), character) != std::end(kBlanks)) {
            continue;
        }
        const std::string key = utf8(character);
        ASSERT_FALSE(refusal(kRule, key)) << std::hex << +character;
        if (character < 0x3100 || character % 0x100 == 0) {
            ASSERT_TRUE(accepted(key + "k" + key)) << std::hex << +character;
            ASSERT_TRUE(accepted("k" + key + "k")) << std::hex << +character;
        }
    }
}

TEST(CheckText, NeverShowsTheValue)
{
    const std::string secret = "s3cr3t-k3y";
    for (const std::string &value :
         {" " + secret, secret + " ", secret + "\n" + secret, std::string(256, 'x') + secret}) {
        const std::optional<Error> error = refusal(kKeyRule, value);
        ASSERT_TRUE(error);
        for (const std::string &part : {error->message(), error->detail(), error->hint()}) {
            EXPECT_EQ(part.find("s3cr3t"), std::string::npos) << part;
        }
    }
}

TEST(CheckCurrency, AcceptsThreeCapitalLetters)
{
    for (const char *currency : {"EUR", "USD", "JPY", "AAA", "ZZZ", "AZM"}) {
        EXPECT_FALSE(error_of([&] { check_currency(currency); })) << currency;
    }
}

TEST(CheckCurrency, RefusesEverythingElse)
{
    for (const std::string_view currency : {"", "E", "EU", "EURO", "eur", "EUr", "eUR", "EU1", "E R", " EU", "EU ",
                                            "EUR ", "E\u00c9", "@UR", "[UR", "EU@", "EU[", "\u0395UR"}) {
        EXPECT_TRUE(
            is_error(error_of([&] { check_currency(currency); }), "22023", "currency must be three letters A-Z"))
            << currency;
    }
    EXPECT_TRUE(error_of([] { check_currency(std::string_view("EU\0", 3)); }));
}

TEST(CheckAmount, AcceptsAmountsAboveZero)
{
    for (const int64_t amount :
         {int64_t{1}, int64_t{2}, int64_t{9007199254740993}, std::numeric_limits<int64_t>::max()}) {
        EXPECT_FALSE(error_of([&] { check_amount(amount); })) << amount;
    }
}

TEST(CheckAmount, RefusesZeroAndBelow)
{
    for (const int64_t amount : {int64_t{0}, int64_t{-1}, std::numeric_limits<int64_t>::min()}) {
        EXPECT_TRUE(
            is_error(error_of([&] { check_amount(amount); }), "22023", "amount_minor must be greater than zero"))
            << amount;
    }
}

TEST(CheckDetails, AcceptsOnlyAnObject)
{
    EXPECT_FALSE(error_of([] { check_details(true); }));
    EXPECT_TRUE(is_error(error_of([] { check_details(false); }), "22023", "details must be a JSON object"));
}

TEST(RefuseNull, NamesTheArgument)
{
    EXPECT_TRUE(is_error(error_of([] { refuse_null("currency"); }), "22004", "currency must not be null"));
}

} // namespace
} // namespace idem::core::test
