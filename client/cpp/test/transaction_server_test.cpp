#include <idem/client.hpp>

#include "error_of.h"
#include "literal.h"
#include "server.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace idem::client::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
class TransactionTest : public testing::Test {
protected:
    void SetUp() override
    {
        database_.value("DROP TABLE IF EXISTS posting");
        database_.value("CREATE TABLE posting (tenant text, note text)");
    }

    int postings_of(const std::string &tenant)
    {
        return std::stoi(database_.value("SELECT count(*) FROM posting WHERE tenant = '" + tenant + "'"));
    }

    // What an application does with a transaction that is new.
    static void post(Transaction &tx, const Request &request)
    {
        tx.run("INSERT INTO posting VALUES ($1, 'posted')", {request.tenant_id});
    }

    Database database_;
    Attempted attempted_;
    Client client_{{.pool_size = 1, .retry = {.deadline = seconds(5)}, .on_attempt = attempted_.hook()}};
    Request request_ = make_request();
};

TEST_F(TransactionTest, OnceRunsTheActionForANewRequestOnly)
{
    int runs = 0;
    const auto action = [&](Transaction &tx, const Result &result) {
        EXPECT_EQ(result.outcome, Outcome::created);
        ++runs;
        post(tx, request_);
    };
    const Result first = client_.once(request_, action);
    const Result second = client_.once(request_, action);
    EXPECT_EQ(first.outcome, Outcome::created);
    EXPECT_EQ(second.outcome, Outcome::replayed);
    EXPECT_EQ(first.transaction_id, second.transaction_id);
    EXPECT_EQ(runs, 1);
    EXPECT_EQ(postings_of(request_.tenant_id), 1);
    EXPECT_EQ(rows_of(request_.tenant_id), 1);
    EXPECT_EQ(attempted_.words(), "created replayed");
}

TEST_F(TransactionTest, OnceRollsBackWhatTheApplicationThrows)
{
    EXPECT_THROW(client_.once(request_,
                              [&](Transaction &tx, const Result &) {
                                  post(tx, request_);
                                  throw std::logic_error("no");
                              }),
                 std::logic_error);
    EXPECT_EQ(rows_of(request_.tenant_id) + postings_of(request_.tenant_id), 0);
    EXPECT_EQ(attempted_.words(), "38000");
    // The one connection is back, and in order.
    EXPECT_EQ(client_.once(request_, [&](Transaction &tx, const Result &) { post(tx, request_); }).outcome,
              Outcome::created);
    EXPECT_EQ(postings_of(request_.tenant_id), 1);
}

TEST_F(TransactionTest, OnceRepeatsWhatTheTableRepeats)
{
    int runs = 0;
    const Result result = client_.once(request_, [&](Transaction &tx, const Result &) {
        post(tx, request_);
        if (++runs < 3) {
            tx.run("DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '40001', MESSAGE = 'no'; END $$");
        }
    });
    EXPECT_EQ(result.outcome, Outcome::created);
    EXPECT_EQ(runs, 3);
    EXPECT_EQ(attempted_.words(), "40001 40001 created");
    EXPECT_EQ(postings_of(request_.tenant_id), 1);
}

TEST_F(TransactionTest, OnceGivesUpAfterTheAttempts)
{
    Client client({.retry = {.attempts = 3, .first_pause = milliseconds(1)}, .on_attempt = attempted_.hook()});
    const auto error = error_of<RetriesExhausted>(
        [&] { client.once(request_, [](Transaction &, const Result &) { throw Error("40P01", "deadlock"); }); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->sqlstate(), "40P01");
    EXPECT_EQ(error->message(), "deadlock");
    EXPECT_EQ(error->attempts(), 3);
    EXPECT_FALSE(error->in_doubt());
    EXPECT_EQ(attempted_.words(), "40P01 40P01 40P01");
    EXPECT_EQ(rows_of(request_.tenant_id), 0);
}

TEST_F(TransactionTest, OnceSendsNoCommitAfterItsDeadline)
{
    Client client({.pool_size = 1, .retry = {.deadline = seconds(1)}, .on_attempt = attempted_.hook()});
    const auto error = error_of<RetriesExhausted>([&] {
        client.once(request_, [&](Transaction &tx, const Result &) {
            post(tx, request_);
            std::this_thread::sleep_for(milliseconds(1100));
        });
    });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->sqlstate(), "57014");
    EXPECT_FALSE(error->in_doubt());
    EXPECT_EQ(attempted_.words(), "57014");
    EXPECT_EQ(rows_of(request_.tenant_id) + postings_of(request_.tenant_id), 0);
    EXPECT_EQ(client.create_transaction(request_).outcome, Outcome::created);
}

// case H32: octets that are no text are refused for good
TEST_F(TransactionTest, OnceRepeatsNothingThatIsRefused)
{
    for (const std::string &octets : {text("\xED\xA0\xBD"), text("\xFF")}) {
        const auto error = error_of([&] {
            client_.once(request_, [&](Transaction &tx, const Result &) { tx.run("SELECT $1::text", {octets}); });
        });
        ASSERT_TRUE(error);
        EXPECT_EQ(error->sqlstate(), "22021");
        EXPECT_EQ(error->attempts(), 1);
    }
    EXPECT_EQ(attempted_.words(), "22021 22021");
    EXPECT_EQ(
        sqlstate_of([&] { client_.transact([](Transaction &tx) { tx.run("SELECT $1::text", {text("a\0b")}); }); }),
        "22021");
    EXPECT_EQ(rows_of(request_.tenant_id), 0);
    EXPECT_EQ(client_.create_transaction(request_).outcome, Outcome::created);
}

TEST_F(TransactionTest, OnceRaisesAConflictBeforeTheActionRuns)
{
    client_.create_transaction(request_);
    request_.currency = "USD";
    const auto error = error_of<ConflictError>(
        [&] { client_.once(request_, [](Transaction &, const Result &) { FAIL() << "the action ran"; }); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->attempts(), 1);
    EXPECT_EQ(client_.try_create_transaction(request_).outcome, Outcome::conflict);
}

// case H76: a COMMIT can be answered by ROLLBACK
TEST_F(TransactionTest, CommitIsNoSuccessWhereAStatementHadFailed)
{
    const auto swallow = [&](Transaction &tx) {
        post(tx, request_);
        EXPECT_EQ(sqlstate_of([&] { tx.run("SELECT 1/0"); }), "22012");
    };
    EXPECT_EQ(sqlstate_of([&] { client_.once(request_, [&](Transaction &tx, const Result &) { swallow(tx); }); }),
              "40000");
    EXPECT_EQ(sqlstate_of([&] { client_.transact(swallow); }), "40000");
    Transaction tx = client_.begin();
    swallow(tx);
    EXPECT_EQ(sqlstate_of([&] { tx.commit(); }), "40000");
    EXPECT_EQ(rows_of(request_.tenant_id) + postings_of(request_.tenant_id), 0);
    EXPECT_EQ(attempted_.all()[0].commit_known, true);
}

TEST_F(TransactionTest, TheActionMayNotEndTheTransaction)
{
    const auto commit = [](Transaction &tx) { tx.commit(); };
    const auto rollback = [](Transaction &tx) { tx.rollback(); };
    const auto natively = [](Transaction &tx) { tx.run("ROLLBACK"); };
    const auto by_chain = [](Transaction &tx) { tx.run("ROLLBACK AND CHAIN"); };
    const auto by_another = [](Transaction &tx) {
        tx.run("ROLLBACK");
        tx.run("BEGIN");
    };
    for (const std::function<void(Transaction &)> &end :
         {std::function<void(Transaction &)>(commit), std::function<void(Transaction &)>(rollback),
          std::function<void(Transaction &)>(natively), std::function<void(Transaction &)>(by_chain),
          std::function<void(Transaction &)>(by_another)}) {
        EXPECT_EQ(sqlstate_of([&] { client_.transact(end); }), "2D000");
        EXPECT_EQ(sqlstate_of([&] { client_.once(request_, [&](Transaction &tx, const Result &) { end(tx); }); }),
                  "2D000");
    }
    EXPECT_EQ(rows_of(request_.tenant_id), 0);
    EXPECT_EQ(client_.create_transaction(request_).outcome, Outcome::created);
}

TEST_F(TransactionTest, ACommitAfterTheEndIsNoSuccess)
{
    for (const char *end : {"ROLLBACK", "ROLLBACK AND CHAIN", "COMMIT"}) {
        Transaction tx = client_.begin();
        tx.run(end);
        EXPECT_EQ(sqlstate_of([&] { tx.commit(); }), "25P01") << end;
    }
    Transaction tx = client_.begin();
    tx.run("SAVEPOINT here");
    EXPECT_EQ(tx.create_transaction(request_).outcome, Outcome::created);
    tx.run("ROLLBACK TO SAVEPOINT here");
    EXPECT_EQ(tx.create_transaction(request_).outcome, Outcome::created);
    tx.commit();
    EXPECT_EQ(rows_of(request_.tenant_id), 1);
}

TEST_F(TransactionTest, RollsBackUnlessCommitted)
{
    {
        Transaction tx = client_.begin();
        EXPECT_EQ(tx.create_transaction(request_).outcome, Outcome::created);
        Transaction moved = std::move(tx);
        EXPECT_EQ(moved.create_transaction(request_).outcome, Outcome::replayed);
    }
    EXPECT_EQ(rows_of(request_.tenant_id), 0);
    Transaction tx = client_.begin();
    EXPECT_EQ(tx.create_transaction(request_).outcome, Outcome::created);
    tx.commit();
    EXPECT_EQ(rows_of(request_.tenant_id), 1);
    EXPECT_EQ(sqlstate_of([&] { tx.run("SELECT 1"); }), "25P01");
    EXPECT_EQ(sqlstate_of([&] { tx.commit(); }), "25P01");
    tx.rollback();
    EXPECT_EQ(client_.create_transaction(request_).outcome, Outcome::replayed);
}

TEST_F(TransactionTest, GivesRowsAsText)
{
    Transaction tx = client_.begin();
    const Rows rows = tx.run("SELECT $1::text, $2::int8, $3::text, $4::bool FROM generate_series(1, 2)",
                             {"é", std::int64_t{-9007199254740993}, std::optional<std::string>(), "t"});
    EXPECT_EQ(rows.size(), 2);
    EXPECT_EQ(rows.columns(), 4);
    EXPECT_EQ(rows.at(1, 0), "é");
    EXPECT_EQ(rows.at(1, 1), "-9007199254740993");
    EXPECT_EQ(rows.at(1, 2), std::nullopt);
    EXPECT_EQ(rows.at(1, 3), "t");
    EXPECT_THROW((void)rows.at(2, 0), std::out_of_range);
    EXPECT_THROW((void)rows.at(0, 4), std::out_of_range);
    EXPECT_EQ(tx.run("INSERT INTO posting SELECT 'x', 'y' FROM generate_series(1, 7)").affected(), 7);
    EXPECT_EQ(sqlstate_of([&] { tx.run("COPY posting TO STDOUT"); }), "0A000");
    tx.rollback();
    EXPECT_EQ(client_.create_transaction(request_).outcome, Outcome::created);
}

// The functions of the extension, and answers that this library cannot read.
class Garbled : public TransactionTest {
protected:
    void SetUp() override
    {
        TransactionTest::SetUp();
        database_.value("CREATE SCHEMA garbled");
        database_.value("CREATE FUNCTION garbled.idem_version() RETURNS text LANGUAGE sql AS 'SELECT idem_version()'");
        database_.value(
            "CREATE FUNCTION garbled.idem_create_transaction(text, text, bigint, text, jsonb, text, text, "
            "OUT transaction_id bytea, OUT outcome idem_outcome, OUT amount_minor bigint, OUT currency text, "
            "OUT details jsonb, OUT order_ref text, OUT created_at timestamptz) LANGUAGE sql AS $$ SELECT "
            "'\x01'::bytea, outcome, amount_minor, currency, details, order_ref, created_at "
            "FROM public.idem_create_transaction($1, $2, $3, $4, $5, $6, $7) $$");
        database_.value(
            "CREATE FUNCTION garbled.idem_create_transactions(text[], text[], bigint[], text[], jsonb[], text[], "
            "text[], text, OUT ord int, OUT outcome idem_outcome, OUT transaction_id uuid, OUT sqlstate text, "
            "OUT created_at timestamptz) RETURNS SETOF record LANGUAGE sql AS $$ SELECT ord + 1, outcome, "
            "transaction_id, sqlstate, created_at "
            "FROM public.idem_create_transactions($1, $2, $3, $4, $5, $6, $7, $8) $$");
    }
    void TearDown() override { database_.value("DROP SCHEMA garbled CASCADE"); }

    void expect_doubt(const std::function<void(Client &client)> &call)
    {
        Client client({.schema = "garbled", .on_attempt = attempted_.hook()});
        const auto error = error_of<RetriesExhausted>([&] { call(client); });
        ASSERT_TRUE(error);
        EXPECT_EQ(error->sqlstate(), "08P01");
        EXPECT_EQ(error->attempts(), 1);
        EXPECT_TRUE(error->in_doubt());
        ASSERT_EQ(attempted_.words(), "08P01");
        EXPECT_FALSE(attempted_.all()[0].commit_known);
        EXPECT_EQ(rows_of(request_.tenant_id), 1);
    }
};

TEST_F(Garbled, AnAnswerAfterTheCommitLeavesADoubt)
{
    expect_doubt([&](Client &client) { client.create_transaction(request_); });
}

TEST_F(Garbled, AnAnswerToABatchLeavesADoubt)
{
    expect_doubt([&](Client &client) { client.create_transactions({&request_, 1}); });
}

TEST_F(Garbled, AnAnswerBeforeTheCommitLeavesNone)
{
    Client client({.schema = "garbled", .on_attempt = attempted_.hook()});
    const auto call = [&] { client.once(request_, [](Transaction &, const Result &) {}); };
    EXPECT_EQ(sqlstate_of(call), "08P01");
    EXPECT_FALSE(error_of<RetriesExhausted>(call));
    EXPECT_TRUE(attempted_.all()[0].commit_known);
    EXPECT_EQ(rows_of(request_.tenant_id), 0);
}

// What an attempt failed with is worth more than the end of another one for which no time is left.
TEST_F(TransactionTest, APauseThatWouldReachTheDeadlineIsNotMade)
{
    const std::chrono::hours years(100000);
    Client client({.retry = {.deadline = seconds(3), .first_pause = years, .longest_pause = years},
                   .on_attempt = attempted_.hook()});
    const auto start = std::chrono::steady_clock::now();
    const auto error = error_of<RetriesExhausted>(
        [&] { client.once(request_, [](Transaction &, const Result &) { throw Error("40001", "lost a race"); }); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->sqlstate(), "40001");
    EXPECT_EQ(error->attempts(), 1);
    EXPECT_LT(std::chrono::steady_clock::now() - start, seconds(2));
    EXPECT_EQ(attempted_.words(), "40001");
}

TEST_F(TransactionTest, AnAttemptThatTheDeadlineEndsDoesNotHideTheOneBefore)
{
    Client client({.retry = {.deadline = seconds(1)}, .on_attempt = attempted_.hook()});
    int runs = 0;
    const auto error = error_of<RetriesExhausted>([&] {
        client.once(request_, [&](Transaction &tx, const Result &) {
            if (++runs == 1) {
                throw Error("40001", "lost a race");
            }
            tx.run("SELECT pg_sleep(60)");
        });
    });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->sqlstate(), "57014");
    EXPECT_EQ(error->message(), "the deadline passed");
    EXPECT_EQ(error->detail(), "The attempt before failed with: lost a race (40001).");
    EXPECT_EQ(attempted_.words(), "40001 57014");
}

// A socket that is always ready hides no deadline.
TEST_F(TransactionTest, AStatementThatNeverStopsTalkingEndsWithTheDeadline)
{
    Client client({.retry = {.deadline = milliseconds(500)}});
    const auto start = std::chrono::steady_clock::now();
    const auto error = error_of<RetriesExhausted>([&] {
        client.transact([](Transaction &tx) {
            tx.run("DO $$ BEGIN WHILE clock_timestamp() < now() + interval '10 s' LOOP RAISE NOTICE 'here'; END LOOP; "
                   "END $$");
        });
    });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->sqlstate(), "57014");
    EXPECT_LT(std::chrono::steady_clock::now() - start, milliseconds(1600));
}

// case H78
TEST_F(TransactionTest, ATimeoutAtCommitIsKnownAndLeavesNothingBehind)
{
    database_.value("CREATE OR REPLACE FUNCTION sleep_long() RETURNS trigger LANGUAGE plpgsql AS "
                    "'BEGIN PERFORM pg_sleep(60); RETURN NULL; END'");
    database_.value("CREATE CONSTRAINT TRIGGER late AFTER INSERT ON posting DEFERRABLE INITIALLY DEFERRED "
                    "FOR EACH ROW EXECUTE FUNCTION sleep_long()");
    const auto error = error_of([&] {
        client_.once(request_, [&](Transaction &tx, const Result &) {
            tx.run("SET LOCAL statement_timeout = 100");
            post(tx, request_);
        });
    });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->sqlstate(), "57014");
    EXPECT_EQ(error->attempts(), 1);
    ASSERT_EQ(attempted_.all().size(), 1U);
    EXPECT_TRUE(attempted_.all()[0].commit_known);
    EXPECT_EQ(attempted_.all()[0].action, Action::ask);
    EXPECT_EQ(rows_of(request_.tenant_id) + postings_of(request_.tenant_id), 0);
    // The pool's only connection.
    client_.transact([](Transaction &tx) { EXPECT_EQ(tx.run("SHOW statement_timeout").at(0, 0), "0"); });
    EXPECT_EQ(client_.create_transaction(request_).outcome, Outcome::created);
}

TEST_F(TransactionTest, AWaitIsRepeatedIfThePolicySaysSo)
{
    Database holder;
    holder.value("BEGIN");
    create_transaction(holder.native(), request_);
    const auto with_limit = [&](Client &client) {
        return sqlstate_of([&] {
            client.transact([&](Transaction &tx) {
                tx.run("SET LOCAL idem.busy_timeout = 0");
                tx.create_transaction(request_);
            });
        });
    };
    EXPECT_EQ(with_limit(client_), "ID002");
    EXPECT_EQ(attempted_.words(), "ID002");
    Client patient({.retry = {.attempts = 3, .first_pause = milliseconds(1), .repeat_waits = true},
                    .on_attempt = attempted_.hook()});
    EXPECT_EQ(with_limit(patient), "ID002");
    EXPECT_EQ(attempted_.words(), "ID002 ID002 ID002 ID002");
    holder.value("COMMIT");
    EXPECT_EQ(with_limit(patient), "none");
}

} // namespace
} // namespace idem::client::test
