#include <idem/client.hpp>

#include "error_of.h"
#include "literal.h"
#include "server.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace idem::client::test {
namespace {

// Outcomes and SQLSTATEs in the order of the answers.
std::string words_of(const std::vector<BatchResult> &answers)
{
    std::string words;
    for (const BatchResult &answer : answers) {
        words +=
            (words.empty() ? "" : " ") + (to_string(answer.outcome) + (answer.sqlstate ? ":" + *answer.sqlstate : ""));
    }
    return words;
}

// A request of the tenant.
Request request_of(const std::string &tenant, const std::string &key, std::int64_t amount = 100)
{
    Request request = make_request();
    request.tenant_id = tenant;
    request.key = Key(key);
    request.amount_minor = amount;
    return request;
}

// Requests of which each meets another end, as does the last one, which the library itself refuses.
std::vector<Request> mixed_requests(const std::string &tenant)
{
    std::vector<Request> requests{request_of(tenant, "a"), request_of(tenant, "b"), request_of(tenant, "a"),
                                  request_of(tenant, "b", 999)};
    requests[1].order_ref = "order-1";
    requests.push_back(request_of(tenant, "c"));
    requests.back().order_ref = "order-1";
    requests.push_back(request_of(tenant, "d", 0));
    requests.push_back(request_of(tenant, "e"));
    requests.back().details = "[]";
    requests.push_back(request_of(tenant, "f"));
    requests.back().operation = text("a\0b");
    requests.push_back(request_of(tenant, "g"));
    return requests;
}

constexpr char kMixedAnswers[] =
    "created created replayed conflict:ID001 order_taken:ID003 invalid:22023 invalid:22023 invalid:22023 created";

// A server whose extension has no batch call: a database with the first version of the extension's functions.
class Singly : public testing::Test {
protected:
    void SetUp() override
    {
        database_.value("ALTER EXTENSION idem DROP FUNCTION idem_create_transactions");
        database_.value("ALTER FUNCTION idem_create_transactions RENAME TO hidden_create_transactions");
    }
    void TearDown() override
    {
        Database database;
        database.value("ALTER FUNCTION hidden_create_transactions RENAME TO idem_create_transactions");
        database.value("ALTER EXTENSION idem ADD FUNCTION idem_create_transactions");
    }
    Database database_;
};

void expect_answers_per_request(PGconn *connection)
{
    const std::string tenant = unique_name();
    const std::vector<Request> requests = mixed_requests(tenant);
    const std::vector<BatchResult> answers = create_transactions(connection, requests);
    EXPECT_EQ(words_of(answers), kMixedAnswers);
    EXPECT_EQ(rows_of(tenant), 3);
    EXPECT_TRUE(answers[0].transaction_id && answers[0].created_at);
    EXPECT_EQ(answers[0].transaction_id, answers[2].transaction_id);
    EXPECT_EQ(answers[0].created_at, answers[2].created_at);
    EXPECT_EQ(answers[0].transaction_id, create_transaction(connection, requests[0]).transaction_id);
    EXPECT_FALSE(answers[3].transaction_id || answers[3].created_at);
    EXPECT_EQ(words_of(create_transactions(connection, std::vector{requests[0], requests[8]})), "replayed replayed");
    EXPECT_EQ(PQtransactionStatus(connection), PQTRANS_IDLE);
}

// case H75
void expect_all_or_nothing(PGconn *connection)
{
    const std::string tenant = unique_name();
    create_transaction(connection, request_of(tenant, "b", 999));
    const std::vector<Request> requests{request_of(tenant, "a"), request_of(tenant, "b"), request_of(tenant, "c")};
    const auto error = error_of<ConflictError>([&] { create_transactions(connection, requests, BatchMode::all); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->sqlstate(), "ID001");
    EXPECT_EQ(error->detail(), "This is request 2 of the batch. The stored request differs in amount_minor.");
    EXPECT_EQ(rows_of(tenant), 1);
    EXPECT_EQ(PQpipelineStatus(connection), PQ_PIPELINE_OFF);
    EXPECT_EQ(PQtransactionStatus(connection), PQTRANS_IDLE);
    EXPECT_EQ(create_transaction(connection, requests[0]).outcome, Outcome::created);
    EXPECT_EQ(words_of(create_transactions(connection, std::vector{requests[0], requests[2]}, BatchMode::all)),
              "replayed created");
    EXPECT_EQ(rows_of(tenant), 3);
}

// In an open transaction the batch belongs to it.
void expect_no_commit_inside(PGconn *connection)
{
    const std::string tenant = unique_name();
    const std::vector<Request> requests{request_of(tenant, "a"), request_of(tenant, "b")};
    PQclear(PQexec(connection, "BEGIN"));
    EXPECT_EQ(words_of(create_transactions(connection, requests)), "created created");
    EXPECT_EQ(PQtransactionStatus(connection), PQTRANS_INTRANS);
    EXPECT_EQ(PQpipelineStatus(connection), PQ_PIPELINE_OFF);
    PQclear(PQexec(connection, "ROLLBACK"));
    EXPECT_EQ(rows_of(tenant), 0);
}

TEST(Batch, AnswersEachRequestAtItsPlace)
{
    expect_answers_per_request(Database().native());
}

TEST_F(Singly, AnswersEachRequestAtItsPlace)
{
    expect_answers_per_request(database_.native());
}

TEST(Batch, StoresAllOrNothingIfWanted)
{
    expect_all_or_nothing(Database().native());
}

TEST_F(Singly, StoresAllOrNothingIfWanted)
{
    expect_all_or_nothing(database_.native());
}

TEST(Batch, RunsInTheTransactionThatIsOpen)
{
    expect_no_commit_inside(Database().native());
}

TEST_F(Singly, RunsInTheTransactionThatIsOpen)
{
    expect_no_commit_inside(database_.native());
}

TEST_F(Singly, LeavesNothingOfAPipelineThatFailed)
{
    const std::string tenant = unique_name();
    std::vector<Request> requests{request_of(tenant, "a"), request_of(tenant, "b")};
    requests[1].details = "{no JSON";
    EXPECT_EQ(sqlstate_of([&] { create_transactions(database_.native(), requests); }), "22P02");
    EXPECT_EQ(PQpipelineStatus(database_.native()), PQ_PIPELINE_OFF);
    EXPECT_EQ(PQtransactionStatus(database_.native()), PQTRANS_IDLE);
    EXPECT_EQ(rows_of(tenant), 0);
    EXPECT_EQ(create_transaction(database_.native(), requests[0]).outcome, Outcome::created);
}

// The answers fill the network's buffers before all requests are sent.
TEST_F(Singly, TakesManyRequests)
{
    const std::string tenant = unique_name();
    std::vector<Request> requests;
    for (int i = 0; i < 5000; ++i) {
        requests.push_back(request_of(tenant, "k" + std::to_string(i)));
        requests.back().details = R"({"filler": ")" + std::string(2000, 'x') + R"("})";
    }
    const std::vector<BatchResult> answers = create_transactions(database_.native(), requests);
    EXPECT_TRUE(std::all_of(answers.begin(), answers.end(),
                            [](const BatchResult &answer) { return answer.outcome == Outcome::created; }));
    EXPECT_EQ(rows_of(tenant), 5000);
}

TEST(Batch, TakesNoneAndNotTooMany)
{
    Database database;
    EXPECT_TRUE(create_transactions(database.native(), {}).empty());
    const std::vector<Request> requests(100001, make_request());
    EXPECT_EQ(sqlstate_of([&] { create_transactions(database.native(), requests); }), "54000");
    EXPECT_EQ(rows_of(requests.front().tenant_id), 0);
}

TEST(Batch, RefusesWithoutSendingWhereAllIsWanted)
{
    const std::string tenant = unique_name();
    const std::vector<Request> requests{request_of(tenant, "a"), request_of(tenant, "b", -1)};
    Client client({});
    const auto error = error_of([&] { client.create_transactions(requests, BatchMode::all); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->sqlstate(), "22023");
    EXPECT_EQ(error->detail(), "This is request 2 of the batch.");
    EXPECT_EQ(error->attempts(), 0);
    EXPECT_EQ(rows_of(tenant), 0);
}

TEST(Batch, IsCommittedByTheClient)
{
    const std::string tenant = unique_name();
    Client client({});
    EXPECT_EQ(words_of(client.create_transactions(mixed_requests(tenant))), kMixedAnswers);
    EXPECT_EQ(rows_of(tenant), 3);
    EXPECT_TRUE(client.create_transactions({}).empty());
}

TEST_F(Singly, IsCommittedByTheClient)
{
    const std::string tenant = unique_name();
    Client client({});
    EXPECT_EQ(words_of(client.create_transactions(mixed_requests(tenant))), kMixedAnswers);
    EXPECT_EQ(rows_of(tenant), 3);
}

} // namespace
} // namespace idem::client::test
