#include "odd_server.h"
#include "record.h"
#include "redis_server.h"
#include "samples.h"
#include "server.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

using namespace std::literals;
using idem::cache::record_name;
using idem::cache::Redis;
using idem::cache::RedisOptions;
using idem::cache::write_record;
using idem::cache::test::a_request;
using idem::cache::test::free_port;
using idem::cache::test::its_result;
using idem::cache::test::patient;
using idem::cache::test::RedisServer;
using idem::cache::test::SilentPort;
using idem::cache::test::time_of;
using idem::client::Client;
using idem::client::ConflictError;
using idem::client::Key;
using idem::client::Outcome;
using idem::client::Request;
using idem::client::Result;
using idem::client::Transaction;
using idem::client::test::Database;

namespace {

// The client of one process: with a cache of its own on the same Redis.
Client process(RedisOptions options)
{
    return Client({.cache = std::make_shared<Redis>(std::move(options))});
}

void nothing(Transaction &, const Result &) {}

} // namespace

// Each test has keys of its own in the database, and a Redis of its own.
class CachedClient : public testing::Test {
protected:
    // A request that no test has made before.
    static Request fresh()
    {
        auto request = a_request(Key::make().text());
        request.order_ref = std::nullopt;
        return request;
    }

    static bool is_stored(const Request &request)
    {
        const auto count =
            "SELECT count(*) FROM idem_transactions WHERE idempotency_key = '" + request.key.text() + "'";
        return Database().value(count) != "0";
    }

    // Serves new and repeated requests through a cache that is of no use; tells what that took.
    static std::chrono::milliseconds serve(Client &client, int requests)
    {
        return time_of([&] {
            for (int i = 0; i < requests; ++i) {
                const auto request = fresh();
                const auto first = client.create_transaction(request);
                EXPECT_EQ(first.outcome, Outcome::created);
                const auto again = client.create_transaction(request);
                EXPECT_EQ(again.outcome, Outcome::replayed);
                EXPECT_EQ(again.transaction_id, first.transaction_id);
            }
        });
    }
};

TEST_F(CachedClient, AnswersFromRedisWhatTheDatabaseAnswered)
{
    RedisServer redis;
    auto one = process(patient(redis.port()));
    const auto request = fresh();
    auto created = one.create_transaction(request);
    EXPECT_EQ(created.outcome, Outcome::created);
    EXPECT_EQ(redis.run({"DBSIZE"}), "1");
    // That the answer is Redis' shows in a client that has no database to ask.
    Client other({.conninfo = "host=127.0.0.1 port=" + std::to_string(free_port()),
                  .retry = {.deadline = 2s, .attempts = 1},
                  .cache = std::make_shared<Redis>(patient(redis.port()))});
    created.outcome = Outcome::replayed;
    EXPECT_EQ(other.create_transaction(request), created);
    int runs = 0;
    EXPECT_EQ(other.once(request, [&](Transaction &, const Result &) { ++runs; }), created);
    EXPECT_EQ(runs, 0);
}

TEST_F(CachedClient, KeepsReplaysOfTheDatabaseToo)
{
    RedisServer redis;
    auto one = process(patient(redis.port()));
    const auto request = fresh();
    auto created = one.create_transaction(request);
    redis.run({"FLUSHALL"});
    created.outcome = Outcome::replayed;
    EXPECT_EQ(one.create_transaction(request), created);
    EXPECT_EQ(redis.run({"DBSIZE"}), "1");
}

TEST_F(CachedClient, PublishesNothingThatWasRolledBack)
{
    RedisServer redis;
    auto one = process(patient(redis.port()));
    const auto request = fresh();
    const auto fail = [](Transaction &, const Result &result) {
        EXPECT_EQ(result.outcome, Outcome::created);
        throw std::domain_error("the business said no");
    };
    EXPECT_THROW(one.once(request, fail), std::domain_error);
    EXPECT_EQ(redis.run({"DBSIZE"}), "0");
    EXPECT_FALSE(is_stored(request));
    auto other = process(patient(redis.port()));
    EXPECT_EQ(other.create_transaction(request).outcome, Outcome::created);
    EXPECT_EQ(redis.run({"DBSIZE"}), "1");
}

TEST_F(CachedClient, PublishesNothingBeforeTheCommit)
{
    RedisServer redis;
    auto one = process(patient(redis.port()));
    int entries = -1;
    one.once(fresh(), [&](Transaction &, const Result &) { entries = std::stoi(*redis.run({"DBSIZE"})); });
    EXPECT_EQ(entries, 0);
    EXPECT_EQ(redis.run({"DBSIZE"}), "1");
}

TEST_F(CachedClient, PublishesNothingWhereTheCommitFails)
{
    RedisServer redis;
    auto one = process(patient(redis.port()));
    const auto request = fresh();
    // A constraint that is checked at the commit: after the callback, before the answer.
    Database database;
    database.value("CREATE TABLE parents (id int PRIMARY KEY)");
    database.value("CREATE TABLE children (id int REFERENCES parents DEFERRABLE INITIALLY DEFERRED)");
    EXPECT_THROW(one.once(request, [](Transaction &tx, const Result &) { tx.run("INSERT INTO children VALUES (1)"); }),
                 idem::client::Error);
    EXPECT_EQ(redis.run({"DBSIZE"}), "0");
    EXPECT_EQ(process(patient(redis.port())).create_transaction(request).outcome, Outcome::created);
}

TEST_F(CachedClient, PublishesNothingOfASavepoint)
{
    RedisServer redis;
    auto one = process(patient(redis.port()));
    const auto outer = fresh();
    const auto inner = fresh();
    one.once(outer, [&](Transaction &tx, const Result &) {
        tx.run("SAVEPOINT s");
        EXPECT_EQ(tx.create_transaction(inner).outcome, Outcome::created);
        tx.run("ROLLBACK TO SAVEPOINT s");
    });
    EXPECT_EQ(redis.run({"DBSIZE"}), "1");
    auto other = process(patient(redis.port()));
    EXPECT_EQ(other.create_transaction(inner).outcome, Outcome::created);
    EXPECT_EQ(other.create_transaction(outer).outcome, Outcome::replayed);
}

TEST_F(CachedClient, PublishesNothingOfTransactionsOfTheCaller)
{
    RedisServer redis;
    auto one = process(patient(redis.port()));
    const auto request = fresh();
    {
        auto tx = one.begin();
        EXPECT_EQ(tx.create_transaction(request).outcome, Outcome::created);
        tx.rollback();
    }
    {
        auto tx = one.begin();
        EXPECT_EQ(tx.try_create_transaction(request).outcome, Outcome::created);
    }
    EXPECT_EQ(redis.run({"DBSIZE"}), "0");
    EXPECT_EQ(process(patient(redis.port())).create_transaction(request).outcome, Outcome::created);
}

TEST_F(CachedClient, FindsConflictsInTheDatabase)
{
    RedisServer redis;
    auto one = process(patient(redis.port()));
    auto request = fresh();
    one.create_transaction(request);
    request.amount_minor += 1;
    EXPECT_THROW(one.create_transaction(request), ConflictError);
    EXPECT_EQ(one.try_create_transaction(request).outcome, Outcome::conflict);
    EXPECT_THROW(one.once(request, nothing), ConflictError);
    EXPECT_EQ(redis.run({"DBSIZE"}), "1");
}

TEST_F(CachedClient, DoesNotBelieveAnotherRequestsEntry)
{
    RedisServer redis;
    auto one = process(patient(redis.port()));
    const auto request = fresh();
    auto other = request;
    other.amount_minor += 1;
    auto poison = its_result();
    poison.order_ref = std::nullopt;
    poison.amount_minor = other.amount_minor;
    const auto record = write_record(other, "", poison);
    ASSERT_TRUE(record);
    redis.run({"SET", record_name(request, ""), *record});
    const auto created = one.create_transaction(request);
    EXPECT_EQ(created.outcome, Outcome::created);
    EXPECT_NE(created.transaction_id, poison.transaction_id);
    const auto again = one.create_transaction(request);
    EXPECT_EQ(again.outcome, Outcome::replayed);
    EXPECT_EQ(again.transaction_id, created.transaction_id);
    // Where the entry is gone, the request that it was made for meets the row that there is.
    redis.run({"DEL", record_name(request, "")});
    EXPECT_THROW(one.create_transaction(other), ConflictError);
}

TEST_F(CachedClient, IsServedWithoutRedis)
{
    std::vector<std::string> warnings;
    auto client = process({.port = free_port(), .warn = [&](std::string_view text) { warnings.emplace_back(text); }});
    Client plain({});
    const auto without = serve(plain, 20);
    EXPECT_LT(serve(client, 20), without + 1s);
    EXPECT_EQ(warnings.size(), 1U);
}

TEST_F(CachedClient, IsServedWhereRedisHangs)
{
    SilentPort silent;
    std::vector<std::string> warnings;
    auto client = process(
        {.port = silent.port(), .timeout = 50ms, .warn = [&](std::string_view text) { warnings.emplace_back(text); }});
    Client plain({});
    serve(plain, 1);
    const auto without = serve(plain, 20);
    // 40 calls: one timeout, and further ones only as pauses end.
    EXPECT_LT(serve(client, 20), without + 1s);
    EXPECT_EQ(warnings.size(), 1U);
}

TEST_F(CachedClient, IsServedWhereRedisGoesAway)
{
    RedisServer redis;
    auto options = patient(redis.port());
    options.warn = [](std::string_view) {};
    auto client = process(options);
    serve(client, 5);
    redis.kill();
    serve(client, 5);
    redis.start();
    serve(client, 5);
    redis.run({"FLUSHALL"});
    serve(client, 5);
}

TEST_F(CachedClient, IsServedWhereRedisFreezes)
{
    RedisServer redis;
    auto client = process({.port = redis.port(), .timeout = 50ms, .warn = [](std::string_view) {}});
    Client plain({});
    serve(client, 5);
    const auto without = serve(plain, 20);
    redis.freeze();
    EXPECT_LT(serve(client, 20), without + 1s);
    redis.thaw();
    serve(client, 5);
}
