#include <idem/request.hpp>

#include "error_of.h"
#include "literal.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

namespace idem::client::test {
namespace {

Request valid()
{
    return {.tenant_id = "shop-7", .key = Key("cart-17"), .amount_minor = 4480, .currency = "EUR"};
}

// What check() says about the valid request after a change: SQLSTATE and message.
template <typename F>
std::string refusal_after(F change)
{
    Request request = valid();
    change(request);
    const auto error = error_of([&] { check(request); });
    return error ? error->sqlstate() + " " + error->message() : "none";
}

TEST(Request, IsTakenWithItsDefaultsAndItsLimits)
{
    EXPECT_EQ(refusal_after([](Request &) {}), "none");
    EXPECT_EQ(refusal_after([](Request &request) {
                  request.tenant_id = std::string(255, 't');
                  request.operation = std::string(100, 'o');
                  request.order_ref = std::string(255, 'r');
                  request.amount_minor = std::numeric_limits<std::int64_t>::max();
              }),
              "none");
}

TEST(Request, IsRefusedForEachText)
{
    const std::string valid_length(256, 'x');
    EXPECT_EQ(refusal_after([](Request &r) { r.tenant_id = ""; }), "22023 tenant_id must not be empty");
    EXPECT_EQ(refusal_after([&](Request &r) { r.tenant_id = valid_length; }), "22023 tenant_id is too long");
    EXPECT_EQ(refusal_after([](Request &r) { r.tenant_id = text("a\0b"); }),
              "22023 tenant_id must not contain control characters");
    EXPECT_EQ(refusal_after([](Request &r) { r.tenant_id = "\xFF"; }), "22021 tenant_id is not valid UTF-8");
    EXPECT_EQ(refusal_after([](Request &r) { r.operation = std::string(101, 'o'); }), "22023 operation is too long");
    EXPECT_EQ(refusal_after([](Request &r) { r.operation = " o"; }), "22023 operation must not start with a blank");
    EXPECT_EQ(refusal_after([](Request &r) { r.order_ref = ""; }), "22023 order_ref must not be empty");
    EXPECT_EQ(refusal_after([](Request &r) { r.order_ref = "r "; }), "22023 order_ref must not end with a blank");
}

TEST(Request, IsRefusedForAmountAndCurrency)
{
    EXPECT_EQ(refusal_after([](Request &r) { r.amount_minor = 0; }), "22023 amount_minor must be greater than zero");
    EXPECT_EQ(refusal_after([](Request &r) { r.amount_minor = std::numeric_limits<std::int64_t>::min(); }),
              "22023 amount_minor must be greater than zero");
    for (const std::string &currency :
         {text(""), text("EU"), text("EURO"), text("eur"), text("EU1"), text("E\0R"), text("\u20AC")}) {
        EXPECT_EQ(refusal_after([&](Request &r) { r.currency = currency; }),
                  "22023 currency must be three letters A-Z");
    }
}

TEST(Request, LeavesJsonToTheServerButNotOctetsThatCannotBeSent)
{
    EXPECT_EQ(refusal_after([](Request &r) { r.details = "no JSON"; }), "none");
    EXPECT_EQ(refusal_after([](Request &r) { r.details = text("{}\0"); }), "22021 details must not contain NUL");
    EXPECT_EQ(refusal_after([](Request &r) { r.details = "{\"a\": \"\xED\xA0\xBD\"}"; }),
              "22021 details is not valid UTF-8");
}

TEST(Request, IsCheckedInTheOrderOfTheServer)
{
    Request request{.tenant_id = "", .key = Key("k"), .amount_minor = 0, .currency = "", .operation = ""};
    request.order_ref = "";
    const auto message = [&] { return error_of([&] { check(request); }).value_or(Error("", "none")).message(); };
    EXPECT_EQ(message(), "tenant_id must not be empty");
    request.tenant_id = "t";
    EXPECT_EQ(message(), "amount_minor must be greater than zero");
    request.amount_minor = 1;
    EXPECT_EQ(message(), "currency must be three letters A-Z");
    request.currency = "EUR";
    EXPECT_EQ(message(), "operation must not be empty");
    request.operation = "o";
    EXPECT_EQ(message(), "order_ref must not be empty");
    request.order_ref = "r";
    EXPECT_EQ(message(), "none");
}

TEST(Outcome, HasTheNameOfTheServer)
{
    EXPECT_STREQ(to_string(Outcome::created), "created");
    EXPECT_STREQ(to_string(Outcome::replayed), "replayed");
    EXPECT_STREQ(to_string(Outcome::conflict), "conflict");
    EXPECT_STREQ(to_string(Outcome::order_taken), "order_taken");
    EXPECT_STREQ(to_string(Outcome::invalid), "invalid");
}

} // namespace
} // namespace idem::client::test
