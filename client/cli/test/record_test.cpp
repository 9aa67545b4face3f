#include "record.hpp"

#include <gtest/gtest.h>

namespace idem::cli::test {
namespace {

Fields complete()
{
    return {.tenant_id = "t", .idempotency_key = "k", .amount_minor = "100", .currency = "EUR"};
}

Refusal refusal_of(Fields fields)
{
    const RequestOrRefusal made = make_request(std::move(fields));
    const auto *refusal = std::get_if<Refusal>(&made);
    return refusal == nullptr ? Refusal{Fate::valid, "", ""} : *refusal;
}

TEST(Record, MakesARequest)
{
    Fields fields = complete();
    fields.details = "{\"n\": 0.10}";
    fields.operation = "refund";
    fields.order_ref = "o-1";
    const RequestOrRefusal made = make_request(fields);
    const auto &request = std::get<client::Request>(made);
    EXPECT_EQ(request.tenant_id, "t");
    EXPECT_EQ(request.key.text(), "k");
    EXPECT_EQ(request.amount_minor, 100);
    EXPECT_EQ(request.currency, "EUR");
    EXPECT_EQ(request.details, "{\"n\": 0.10}");
    EXPECT_EQ(request.operation, "refund");
    EXPECT_EQ(request.order_ref, "o-1");
}

TEST(Record, HasTheDefaultsOfTheCall)
{
    const RequestOrRefusal made = make_request(complete());
    const auto &request = std::get<client::Request>(made);
    EXPECT_EQ(request.details, "{}");
    EXPECT_EQ(request.operation, "create-transaction");
    EXPECT_EQ(request.order_ref, std::nullopt);
}

TEST(Record, ReadsAmountsExactly)
{
    EXPECT_EQ(parse_amount("9223372036854775807"), INT64_MAX);
    EXPECT_EQ(parse_amount("-9223372036854775808"), INT64_MIN);
    EXPECT_EQ(parse_amount("9007199254740993"), 9007199254740993);
    EXPECT_EQ(parse_amount("010"), 10);
    for (const char *text : {"", "-", "+1", " 1", "1 ", "1.0", "1e3", "0x10", "9223372036854775808", "1,000", "١"}) {
        EXPECT_EQ(parse_amount(text), std::nullopt) << text;
    }
}

TEST(Record, TellsAmountsThatAreNoNumbersFromThoseOutOfRange)
{
    Fields fields = complete();
    for (const char *text : {"", "abc", "1.5", "1e3", "100.0", "--1", "+5"}) {
        fields.amount_minor = text;
        EXPECT_EQ(refusal_of(fields).fate, Fate::unreadable) << text;
    }
    fields.amount_minor = "9223372036854775808";
    EXPECT_EQ(refusal_of(fields).fate, Fate::invalid);
    EXPECT_EQ(refusal_of(fields).sqlstate, "22003");
    for (const char *text : {"0", "-1"}) {
        fields.amount_minor = text;
        EXPECT_EQ(refusal_of(fields).fate, Fate::invalid) << text;
        EXPECT_EQ(refusal_of(fields).sqlstate, "22023") << text;
    }
}

TEST(Record, MissesWhatMustBeThere)
{
    for (const char *name : {"tenant_id", "idempotency_key", "amount_minor", "currency"}) {
        Fields fields = complete();
        field_named(fields, name)->reset();
        EXPECT_EQ(refusal_of(fields).fate, Fate::unreadable) << name;
        EXPECT_EQ(refusal_of(fields).reason, std::string(name) + " is missing");
    }
    Fields fields = complete();
    EXPECT_EQ(field_named(fields, "amount"), nullptr);
}

TEST(Record, RefusesWhatBreaksARuleAsTheServerDoes)
{
    Fields fields = complete();
    fields.idempotency_key = std::string("a\0b", 3);
    EXPECT_EQ(refusal_of(fields).sqlstate, "22023");
    fields.idempotency_key = "\xED\xA0\xBD";
    EXPECT_EQ(refusal_of(fields).sqlstate, "22021");
    fields.idempotency_key = std::string(256, 'k');
    EXPECT_EQ(refusal_of(fields).sqlstate, "22023");
    fields = complete();
    fields.currency = "eur";
    EXPECT_EQ(refusal_of(fields).sqlstate, "22023");
    fields = complete();
    fields.order_ref = "";
    EXPECT_EQ(refusal_of(fields).sqlstate, "22023");
}

TEST(Record, RefusesDetailsThatAreNoObject)
{
    Fields fields = complete();
    for (const auto &[details, sqlstate] : {std::pair{"[1]", "22023"},
                                            {"\"{}\"", "22023"},
                                            {"null", "22023"},
                                            {"{\"a\":01}", "22P02"},
                                            {"", "22P02"},
                                            {"{\"a\":\"\xFF\"}", "22021"}}) {
        fields.details = details;
        EXPECT_EQ(refusal_of(fields).fate, Fate::invalid) << details;
        EXPECT_EQ(refusal_of(fields).sqlstate, sqlstate) << details;
    }
}

TEST(Record, ShowsNoValueInAReason)
{
    Fields fields = complete();
    fields.idempotency_key = " secret";
    EXPECT_EQ(refusal_of(fields).reason.find("secret"), std::string::npos);
    fields = complete();
    fields.details = "{\"secret\"}";
    EXPECT_EQ(refusal_of(fields).reason.find("secret"), std::string::npos);
}

} // namespace
} // namespace idem::cli::test
