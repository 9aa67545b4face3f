#include "record.h"

#include "samples.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

using namespace std::literals;
using idem::cache::read_record;
using idem::cache::record_name;
using idem::cache::write_record;
using idem::cache::test::a_request;
using idem::cache::test::its_replay;
using idem::cache::test::its_result;
using idem::client::Key;
using idem::client::Outcome;
using idem::client::Request;
using idem::client::Result;

namespace {

std::string name_of(std::string tenant, std::string operation, std::string key, std::string_view ledger = {})
{
    auto request = a_request(std::move(key));
    request.tenant_id = std::move(tenant);
    request.operation = std::move(operation);
    return record_name(request, ledger);
}

// Every way in which one field of the request can differ.
std::vector<Request> neighbours()
{
    std::vector<Request> all;
    const auto add = [&all](auto change) {
        auto request = a_request();
        change(request);
        all.push_back(request);
    };
    add([](Request &r) { r.tenant_id = "acmf"; });
    add([](Request &r) { r.operation = "refund"; });
    add([](Request &r) { r.key = Key("k-2"); });
    add([](Request &r) { r.amount_minor = 1001; });
    add([](Request &r) { r.currency = "USD"; });
    add([](Request &r) { r.details = R"({"to":"DE89"})"; });
    add([](Request &r) { r.order_ref = "order 8"; });
    add([](Request &r) { r.order_ref = std::nullopt; });
    return all;
}

} // namespace

TEST(RecordName, HasTheFormThatOperatorsKnow)
{
    EXPECT_EQ(name_of("acme", "create-transaction", "k-1"), "idem:{acme:create-transaction:k-1}");
    EXPECT_EQ(name_of("acme", "create-transaction", "k-1", "prod"), "idem:prod:{acme:create-transaction:k-1}");
}

TEST(RecordName, KeepsScopesApart)
{
    // All that a shift of the limits between the parts, a brace or an escape could merge.
    const std::vector<std::string> parts = {"a", "a:", ":a", "a:b", "b", ":",   "{",
                                            "}", "a}", "{a", "%3A", "%", "%25", "\xff"};
    std::set<std::string> names;
    std::size_t scopes = 0;
    for (const auto &ledger : parts) {
        for (const auto &tenant : parts) {
            for (const auto &operation : parts) {
                for (const auto &key : {"a", "b", ":b", "a:b", "{", "}", "%7D"}) {
                    names.insert(name_of(tenant, operation, key, ledger));
                    names.insert(name_of(tenant, operation, key));
                    ++scopes;
                }
            }
        }
    }
    const auto without_ledger = parts.size() * parts.size() * 7;
    EXPECT_EQ(names.size(), scopes + without_ledger);
}

TEST(RecordName, HasOneHashTagOfTheWholeScope)
{
    const auto name = name_of("a}b{c", "{x}", "{}", "{l}");
    const auto first = name.find('{');
    EXPECT_EQ(name.find('}'), name.size() - 1);
    EXPECT_EQ(name.substr(first + 1, name.size() - first - 2), "a%7Db%7Bc:%7Bx%7D:%7B%7D");
}

TEST(Record, GivesBackTheResultAsAReplay)
{
    const auto record = write_record(a_request(), "", its_result());
    ASSERT_TRUE(record);
    EXPECT_EQ(read_record(a_request(), "", *record), its_replay());
}

TEST(Record, CarriesValuesOfEveryKind)
{
    auto request = a_request("schl\xC3\xBCssel {}:%");
    request.order_ref = std::nullopt;
    request.amount_minor = INT64_MAX;
    request.details = "{\"n\": 1.00000000000000000000000001, \"s\": \"\xE2\x82\xAC\\n request 5 \"}";
    Result result{.outcome = Outcome::replayed,
                  .transaction_id = "ffffffff-ffff-7fff-bfff-ffffffffffff",
                  .amount_minor = INT64_MAX,
                  .currency = "EUR",
                  .details = request.details,
                  .order_ref = std::nullopt,
                  .created_at = idem::client::Timestamp(std::chrono::microseconds(-1))};
    const auto record = write_record(request, "", result);
    ASSERT_TRUE(record);
    EXPECT_EQ(read_record(request, "", *record), result);
}

TEST(Record, IsForTheSameOctetsOnly)
{
    const auto record = write_record(a_request(), "", its_result());
    ASSERT_TRUE(record);
    for (const auto &other : neighbours()) {
        EXPECT_FALSE(read_record(other, "", *record));
    }
    EXPECT_FALSE(read_record(a_request(), "other", *record));
}

TEST(Record, IsForTheSameFieldsOnly)
{
    // Octets that move from one field to the next make another request.
    auto moved = a_request();
    moved.tenant_id = "acm";
    moved.operation = "e" + moved.operation;
    EXPECT_NE(write_record(a_request(), "", its_result()), write_record(moved, "", its_result()));
    EXPECT_NE(write_record(a_request(), "", its_result()), write_record(a_request(), "l", its_result()));
}

TEST(Record, IsRefusedWithAnyOctetChanged)
{
    const auto record = *write_record(a_request(), "", its_result());
    for (std::size_t i = 0; i < record.size(); ++i) {
        for (const int bit : {0, 4, 7}) {
            auto changed = record;
            changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
            EXPECT_FALSE(read_record(a_request(), "", changed)) << "octet " << i << ", bit " << bit;
        }
    }
}

TEST(Record, IsRefusedWhereSomethingIsMissingOrAdded)
{
    const auto record = *write_record(a_request(), "", its_result());
    for (std::size_t i = 0; i < record.size(); ++i) {
        EXPECT_FALSE(read_record(a_request(), "", record.substr(0, i))) << "cut at " << i;
        EXPECT_FALSE(read_record(a_request(), "", record.substr(i + 1))) << "begun at " << i + 1;
        auto doubled = record;
        doubled.insert(i, 1, record[i]);
        EXPECT_FALSE(read_record(a_request(), "", doubled)) << "doubled at " << i;
    }
    EXPECT_FALSE(read_record(a_request(), "", record + "\n"));
    EXPECT_FALSE(read_record(a_request(), "", record + record));
}

TEST(Record, IsRefusedWhereALengthLies)
{
    const auto record = *write_record(a_request(), "", its_result());
    const auto at = record.find("currency 3 ");
    ASSERT_NE(at, std::string::npos);
    for (const auto *length :
         {"0", "4", "03", "+3", "-3", "99999999", "18446744073709551615", "18446744073709551616", ""}) {
        auto changed = record;
        changed.replace(at, "currency 3 "sv.size(), "currency "s + length + " ");
        EXPECT_FALSE(read_record(a_request(), "", changed)) << length;
    }
}

TEST(Record, IsNotWrittenForAnImpossibleResult)
{
    const auto refused = [](auto change) {
        auto result = its_result();
        change(result);
        return !write_record(a_request(), "", result);
    };
    EXPECT_TRUE(refused([](Result &r) { r.transaction_id = ""; }));
    EXPECT_TRUE(refused([](Result &r) { r.transaction_id[8] = '0'; }));
    EXPECT_TRUE(refused([](Result &r) { r.transaction_id[0] = 'G'; }));
    EXPECT_TRUE(refused([](Result &r) { r.amount_minor = 999; }));
    EXPECT_TRUE(refused([](Result &r) { r.currency = "USD"; }));
    EXPECT_TRUE(refused([](Result &r) { r.order_ref = "order 8"; }));
    EXPECT_TRUE(refused([](Result &r) { r.order_ref = std::nullopt; }));
    EXPECT_TRUE(refused([](Result &r) { r.details = ""; }));
}
