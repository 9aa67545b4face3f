#include <idem/client.hpp>

#include "error_of.h"
#include "proxy.h"
#include "server.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace idem::client::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

using Clock = std::chrono::steady_clock;

// A client behind the proxy, and a table for what the application writes.
class Faults : public testing::Test {
protected:
    void SetUp() override
    {
        database_.value("DROP TABLE IF EXISTS posting");
        database_.value("CREATE TABLE posting (tenant text)");
    }

    int postings()
    {
        return std::stoi(database_.value("SELECT count(*) FROM posting WHERE tenant = '" + request_.tenant_id + "'"));
    }

    [[nodiscard]] ClientOptions options()
    {
        return {.conninfo = conninfo_at(proxy_.port()),
                .pool_size = 2,
                .connect_timeout = seconds(10),
                .retry = {.deadline = seconds(30)},
                .on_attempt = attempted_.hook()};
    }

    // The first connection is made before anything goes wrong.
    void warm_up(Client &client)
    {
        client.server_version();
        before_ = attempted_.all().size();
    }

    // The attempts since then.
    std::vector<Seen> attempts()
    {
        const std::vector<Seen> all = attempted_.all();
        return {all.begin() + static_cast<std::ptrdiff_t>(before_), all.end()};
    }

    Result once(Client &client)
    {
        return client.once(request_, [&](Transaction &tx, const Result &) {
            ++runs_;
            tx.run("INSERT INTO posting VALUES ($1)", {request_.tenant_id});
        });
    }

    // One row, the application's rows with it, and nobody at work on more.
    void expect_stored_once()
    {
        EXPECT_EQ(rows_of(request_.tenant_id), 1);
        EXPECT_EQ(postings(), 1);
    }

    Proxy proxy_;
    Database database_;
    Attempted attempted_;
    Request request_ = make_request();
    std::size_t before_ = 0;
    int runs_ = 0;
};

// case H69
TEST_F(Faults, AnAnswerToCommitThatGetsLostIsFoundAgain)
{
    for (const std::string fault : {"cut_after_commit", "reset_after_commit", "cut_in_answer commit 3"}) {
        request_ = make_request();
        runs_ = 0;
        Client client(options());
        warm_up(client);
        proxy_.order("next " + fault);
        const Result result = once(client);
        EXPECT_EQ(result.outcome, Outcome::replayed) << fault;
        EXPECT_EQ(runs_, 1);
        const std::vector<Seen> seen = attempts();
        ASSERT_EQ(seen.size(), 2U);
        EXPECT_EQ(seen[0].sqlstate, "08006");
        EXPECT_FALSE(seen[0].commit_known);
        EXPECT_EQ(seen[0].action, Action::unknown);
        EXPECT_TRUE(seen[1].commit_known);
        expect_stored_once();
    }
    EXPECT_EQ(proxy_.count("cut_after_commit"), 1);
    EXPECT_EQ(proxy_.count("reset_after_commit"), 1);
    EXPECT_EQ(proxy_.count("cut_in_answer"), 1);
}

// case H69, for a call that commits by itself
TEST_F(Faults, AnAnswerToASingleCallThatGetsLostIsFoundAgain)
{
    Client client(options());
    warm_up(client);
    for (const std::string fault : {"cut_after_commit", "reset_after_commit", "cut_in_answer autocommit 40"}) {
        request_ = make_request();
        before_ = attempted_.all().size();
        proxy_.order("next " + fault);
        const Result result = client.create_transaction(request_);
        EXPECT_EQ(result.outcome, Outcome::replayed) << fault;
        EXPECT_EQ(result.transaction_id, create_transaction(database_.native(), request_).transaction_id);
        const std::vector<Seen> seen = attempts();
        ASSERT_EQ(seen.size(), 2U);
        EXPECT_FALSE(seen[0].commit_known);
        EXPECT_EQ(rows_of(request_.tenant_id), 1);
    }
}

TEST_F(Faults, AnAnswerToABatchThatGetsLostIsFoundAgain)
{
    Client client(options());
    warm_up(client);
    std::vector<Request> requests(3, request_);
    requests[1].key = Key("k-1");
    requests[2].key = Key("k-2");
    proxy_.order("next cut_after_commit");
    for (const BatchResult &answer : client.create_transactions(requests)) {
        EXPECT_EQ(answer.outcome, Outcome::replayed);
    }
    proxy_.order("next cut_before_commit");
    for (Request &request : requests) {
        request.operation = "refund";
    }
    for (const BatchResult &answer : client.create_transactions(requests)) {
        EXPECT_EQ(answer.outcome, Outcome::created);
    }
    EXPECT_EQ(attempts().size(), 4U);
    EXPECT_EQ(rows_of(request_.tenant_id), 6);
}

// case H69, for writes that idem knows nothing of
TEST_F(Faults, APlainTransactionIsNotRepeatedAfterItsCommit)
{
    Client client(options());
    warm_up(client);
    int runs = 0;
    const auto post = [&](Transaction &tx) {
        ++runs;
        tx.run("INSERT INTO posting VALUES ($1)", {request_.tenant_id});
    };
    for (const std::string fault : {"cut_after_commit", "cut_before_commit"}) {
        runs = 0;
        proxy_.order("next " + fault);
        const auto error = error_of<InDoubtError>([&] { client.transact(post); });
        ASSERT_TRUE(error) << fault;
        EXPECT_EQ(error->sqlstate(), "ID006");
        EXPECT_EQ(error->attempts(), 1);
        EXPECT_EQ(runs, 1);
        EXPECT_EQ(postings(), 1);
        proxy_.order("next " + fault);
        Transaction tx = client.begin();
        tx.run("SELECT 1");
        EXPECT_TRUE(error_of<InDoubtError>([&] { tx.commit(); })) << fault;
    }
    // Before COMMIT was sent it is surely rolled back.
    runs = 0;
    proxy_.order("next cut_statement statement");
    client.transact(post);
    EXPECT_EQ(runs, 2);
    EXPECT_EQ(postings(), 2);
}

// case H70
TEST_F(Faults, ACommitThatDidNotArriveIsMadeGoodByTheWholeTransaction)
{
    Client client(options());
    warm_up(client);
    proxy_.order("next cut_before_commit");
    EXPECT_EQ(once(client).outcome, Outcome::created);
    EXPECT_EQ(runs_, 2);
    ASSERT_EQ(attempts().size(), 2U);
    EXPECT_FALSE(attempts()[0].commit_known);
    expect_stored_once();
}

// case H70, without a second attempt: no success, and nothing stored
TEST_F(Faults, ACommitThatDidNotArriveIsNoSuccess)
{
    ClientOptions options = this->options();
    options.retry.attempts = 1;
    Client client(options);
    warm_up(client);
    proxy_.order("next cut_before_commit");
    const auto error = error_of<RetriesExhausted>([&] { once(client); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->sqlstate(), "08006");
    EXPECT_EQ(error->attempts(), 1);
    EXPECT_TRUE(error->in_doubt());
    EXPECT_EQ(rows_of(request_.tenant_id) + postings(), 0);
    proxy_.order("next cut_statement begin");
    EXPECT_FALSE(error_of<RetriesExhausted>([&] { once(client); }).value().in_doubt());
}

TEST_F(Faults, EveryStatementBeforeTheCommitMayBeCut)
{
    Client client(options());
    for (const std::string fault : {"cut_statement begin", "cut_statement statement", "cut_connect"}) {
        request_ = make_request();
        proxy_.order("cut");
        proxy_.order("next " + fault);
        EXPECT_EQ(once(client).outcome, Outcome::created) << fault;
        expect_stored_once();
    }
}

// case H74: the network takes everything and gives nothing
TEST_F(Faults, ASilentNetworkEndsACallAtItsDeadline)
{
    ClientOptions options = this->options();
    options.retry.deadline = seconds(1);
    Client client(options);
    warm_up(client);
    for (const std::string fault : {"swallow_answer autocommit", "half_open autocommit"}) {
        request_ = make_request();
        proxy_.order("next " + fault);
        // What the client asks for while it gives up is lost as well.
        proxy_.order("next half_open cancel");
        const auto start = Clock::now();
        const auto error = error_of<RetriesExhausted>([&] { client.create_transaction(request_); });
        const auto time = Clock::now() - start;
        ASSERT_TRUE(error) << fault;
        EXPECT_EQ(error->sqlstate(), "57014");
        EXPECT_TRUE(error->in_doubt());
        EXPECT_GE(time, seconds(1));
        EXPECT_LT(time, seconds(2));
        const bool committed = fault.starts_with("swallow");
        EXPECT_EQ(rows_of(request_.tenant_id), committed ? 1 : 0);
        EXPECT_EQ(client.create_transaction(request_).outcome, committed ? Outcome::replayed : Outcome::created);
        EXPECT_EQ(rows_of(request_.tenant_id), 1);
    }
}

// case H74, for COMMIT
TEST_F(Faults, ASilentNetworkAtCommitLeavesTheOutcomeOpen)
{
    ClientOptions options = this->options();
    options.retry.deadline = seconds(1);
    Client client(options);
    warm_up(client);
    proxy_.order("next swallow_answer commit");
    const auto start = Clock::now();
    const auto error = error_of<RetriesExhausted>([&] { once(client); });
    ASSERT_TRUE(error);
    EXPECT_TRUE(error->in_doubt());
    EXPECT_LT(Clock::now() - start, seconds(2));
    EXPECT_EQ(once(client).outcome, Outcome::replayed);
    expect_stored_once();
}

// case H74: nothing can have been committed where COMMIT was not sent
TEST_F(Faults, ASilentNetworkBeforeCommitIsAKnownFailure)
{
    ClientOptions options = this->options();
    options.retry.deadline = seconds(1);
    Client client(options);
    warm_up(client);
    proxy_.order("next half_open statement");
    proxy_.order("next half_open cancel");
    const auto error = error_of<RetriesExhausted>([&] { once(client); });
    ASSERT_TRUE(error);
    EXPECT_FALSE(error->in_doubt());
    EXPECT_EQ(once(client).outcome, Outcome::created);
    expect_stored_once();
}

// case H74, for connections
TEST_F(Faults, ASilentNetworkEndsConnectingInTime)
{
    ClientOptions options = this->options();
    options.connect_timeout = milliseconds(300);
    options.retry = {.deadline = seconds(1), .attempts = 100};
    Client client(options);
    proxy_.order("set half_open connect");
    const auto start = Clock::now();
    const auto error = error_of<RetriesExhausted>([&] { client.create_transaction(request_); });
    const auto time = Clock::now() - start;
    ASSERT_TRUE(error);
    EXPECT_EQ(error->sqlstate(), "08001");
    EXPECT_FALSE(error->in_doubt());
    EXPECT_GE(error->attempts(), 2);
    EXPECT_GE(time, milliseconds(900));
    EXPECT_LT(time, seconds(2));
    proxy_.order("clear");
    EXPECT_EQ(client.create_transaction(request_).outcome, Outcome::created);
}

// What was idle in the pool while the network went silent does not cost each call its deadline.
TEST_F(Faults, IdleConnectionsToASilentServerAreNotTrusted)
{
    ClientOptions options = this->options();
    options.retry.deadline = seconds(1);
    Client client(options);
    {
        Transaction one = client.begin();
        Transaction two = client.begin();
    }
    proxy_.order("hold on");
    EXPECT_TRUE(error_of<RetriesExhausted>([&] { client.create_transaction(request_); }));
    proxy_.order("hold off");
    EXPECT_EQ(client.create_transaction(request_).outcome, Outcome::created);
    EXPECT_EQ(rows_of(request_.tenant_id), 1);
}

TEST_F(Faults, OctetsAndKeyAreTheSameOnEveryAttempt)
{
    Client client(options());
    warm_up(client);
    request_.details = R"({"n": 1.50, "z": 1, "a": 2})";
    proxy_.order("next cut_after_commit");
    proxy_.order("next cut_after_commit");
    EXPECT_EQ(client.create_transaction(request_).outcome, Outcome::replayed);
    EXPECT_EQ(attempts().size(), 3U);
    EXPECT_EQ(database_.value("SELECT count(DISTINCT idempotency_key) || ' ' || count(*) FROM idem_transactions "
                              "WHERE tenant_id = '" +
                              request_.tenant_id + "'"),
              "1 1");
}

// A cache holds what is committed, and nothing else.
class Remembering : public ResultCache {
public:
    std::optional<Result> find(const Request & /*request*/) noexcept override
    {
        ++finds;
        return kept;
    }
    void store(const Request & /*request*/, const Result &result) noexcept override
    {
        ++stores;
        stored = result;
    }
    std::optional<Result> kept;
    std::optional<Result> stored;
    int finds = 0;
    int stores = 0;
};

// case H45
TEST_F(Faults, TheCacheHoldsNothingBeforeTheCommitIsKnown)
{
    const auto cache = std::make_shared<Remembering>();
    ClientOptions options = this->options();
    options.cache = cache;
    options.retry.attempts = 1;
    Client client(options);
    {
        Transaction tx = client.begin();
        tx.create_transaction(request_);
    }
    EXPECT_THROW(client.once(request_, [](Transaction &, const Result &) { throw 1; }), int);
    proxy_.order("next cut_after_commit");
    EXPECT_TRUE(error_of<RetriesExhausted>([&] { once(client); }));
    EXPECT_EQ(cache->finds, 2);
    EXPECT_EQ(cache->stores, 0);
    EXPECT_EQ(once(client).outcome, Outcome::replayed);
    EXPECT_EQ(cache->stores, 1);
    request_.amount_minor = 1;
    EXPECT_EQ(client.try_create_transaction(request_).outcome, Outcome::conflict);
    EXPECT_EQ(cache->stores, 1);
}

TEST_F(Faults, TheCacheAnswersWithoutTheServer)
{
    const auto cache = std::make_shared<Remembering>();
    cache->kept = Result{.outcome = Outcome::replayed,
                         .transaction_id = "id",
                         .currency = {},
                         .details = {},
                         .order_ref = {},
                         .created_at = {}};
    ClientOptions options = this->options();
    options.cache = cache;
    Client client(options);
    proxy_.order("refuse on");
    EXPECT_EQ(client.create_transaction(request_), *cache->kept);
    EXPECT_EQ(client.try_create_transaction(request_), *cache->kept);
    EXPECT_EQ(once(client), *cache->kept);
    EXPECT_EQ(runs_, 0);
    EXPECT_TRUE(attempted_.all().empty());
    Request malformed = request_;
    malformed.currency = "";
    EXPECT_EQ(sqlstate_of([&] { client.create_transaction(malformed); }), "22023");
}

} // namespace
} // namespace idem::client::test
