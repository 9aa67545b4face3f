#include <idem/client.hpp>

#include "cluster.h"
#include "error_of.h"
#include "server.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

namespace idem::client::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A primary that waits for a standby which is stopped. What is committed there is not durable.
class Synchronous : public testing::Test {
protected:
    void SetUp() override
    {
        Database database(primary_.conninfo());
        database.value("CREATE TABLE posting (tenant text)");
        const std::string lsn = database.value("SELECT pg_current_wal_insert_lsn()");
        ASSERT_TRUE(until([&] {
            return Database(standby_.conninfo()).value("SELECT pg_last_wal_replay_lsn() >= '" + lsn + "'::pg_lsn") ==
                   "t";
        }));
        standby_.stop();
        database.value("ALTER SYSTEM SET synchronous_standby_names = 'second'");
        database.value("SELECT pg_reload_conf()");
        ASSERT_TRUE(until([&] { return database.value("SHOW synchronous_standby_names") == "second"; }));
    }

    [[nodiscard]] ClientOptions options(std::chrono::milliseconds deadline)
    {
        return {.conninfo = "host=127.0.0.1,127.0.0.1 port=" + std::to_string(primary_.port()) + "," +
                            std::to_string(standby_.port()) + " user=postgres dbname=postgres",
                .retry = {.deadline = deadline, .attempts = 100},
                .on_attempt = attempted_.hook()};
    }

    // Cancels whoever waits for the standby, until told to stop.
    void cancel_waits(const std::atomic<bool> &stop)
    {
        Database database(primary_.conninfo());
        while (!stop) {
            database.value("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
            std::this_thread::sleep_for(milliseconds(20));
        }
    }

    // Runs something while waits are cancelled.
    template <typename F>
    void while_waits_are_cancelled(F run)
    {
        std::atomic<bool> stop = false;
        std::thread canceller([&] { cancel_waits(stop); });
        run();
        stop = true;
        canceller.join();
    }

    void promote_the_standby()
    {
        primary_.stop();
        standby_.start();
        standby_.promote();
    }

    Cluster primary_;
    Cluster standby_{primary_, "second"};
    Attempted attempted_;
    Request request_ = make_request();
};

// case H79: neither a call nor a transaction is acknowledged, and the retry after the failover creates the row
TEST_F(Synchronous, ACancelledWaitIsNoSuccess)
{
    ClientOptions options = this->options(seconds(10));
    options.retry.attempts = 3;
    Request by_once = make_request();
    Client client(options);
    while_waits_are_cancelled([&] {
        const auto error = error_of<RetriesExhausted>([&] { client.create_transaction(request_); });
        ASSERT_TRUE(error);
        EXPECT_EQ(error->sqlstate(), "08007");
        EXPECT_TRUE(error->in_doubt());
        EXPECT_TRUE(error_of<RetriesExhausted>([&] {
                        client.once(by_once, [&](Transaction &tx, const Result &) {
                            tx.run("INSERT INTO posting VALUES ($1)", {by_once.tenant_id});
                        });
                    })
                        .value()
                        .in_doubt());
        EXPECT_TRUE(error_of<InDoubtError>(
            [&] { client.transact([&](Transaction &tx) { tx.run("INSERT INTO posting VALUES ('plain')"); }); }));
    });
    for (const Seen &seen : attempted_.all()) {
        EXPECT_EQ(seen.sqlstate, "08007");
        EXPECT_FALSE(seen.commit_known);
    }
    // It is visible, and not durable.
    EXPECT_EQ(rows_of(request_.tenant_id, primary_.conninfo()), 1);
    promote_the_standby();
    EXPECT_EQ(rows_of(request_.tenant_id, standby_.conninfo()), 0);
    Client after(this->options(seconds(10)));
    EXPECT_EQ(after.create_transaction(request_).outcome, Outcome::created);
    EXPECT_EQ(rows_of(request_.tenant_id, standby_.conninfo()), 1);
    EXPECT_EQ(after.once(by_once, [](Transaction &, const Result &) {}).outcome, Outcome::created);
}

// A retry that finds the row must wait for the standby, too.
TEST_F(Synchronous, AReplayAfterADoubtWaitsForTheStandby)
{
    Client client(options(seconds(2)));
    const auto start = std::chrono::steady_clock::now();
    std::atomic<bool> cancelled = false;
    std::thread canceller([&] {
        Database database(primary_.conninfo());
        cancelled = until([&] {
            return database.value("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") ==
                   "t";
        });
    });
    // The first attempt ends in a doubt; the second one is replayed, and waits until the deadline.
    const auto error = error_of<RetriesExhausted>([&] { client.create_transaction(request_); });
    canceller.join();
    EXPECT_TRUE(cancelled);
    ASSERT_TRUE(error);
    EXPECT_TRUE(error->in_doubt());
    EXPECT_EQ(error->attempts(), 2);
    EXPECT_GE(std::chrono::steady_clock::now() - start, seconds(2));
    EXPECT_EQ(rows_of(request_.tenant_id, primary_.conninfo()), 1);

    // With the standby back, the same is acknowledged.
    Client patient(options(seconds(20)));
    std::thread starter([&] {
        Database database(primary_.conninfo());
        until([&] {
            return database.value("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") ==
                   "t";
        });
        standby_.start();
    });
    const Request other = make_request();
    EXPECT_EQ(patient.create_transaction(other).outcome, Outcome::replayed);
    starter.join();
    primary_.stop();
    standby_.promote();
    EXPECT_EQ(rows_of(other.tenant_id, standby_.conninfo()), 1);
}

// The role may lack the right to write the message; then the replay is acknowledged without the wait.
TEST_F(Synchronous, AReplayIsGivenWhereTheMessageIsNotPermitted)
{
    {
        Database database(primary_.conninfo());
        database.value("SET synchronous_commit = local");
        database.value("CREATE ROLE plain LOGIN");
        database.value("SELECT idem_grant('plain')");
        database.value("DO $$ DECLARE f regprocedure; BEGIN FOR f IN SELECT oid FROM pg_proc "
                       "WHERE proname = 'pg_logical_emit_message' LOOP "
                       "EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', f); END LOOP; END $$");
    }
    ClientOptions options = this->options(seconds(10));
    options.conninfo += " user=plain";
    Client client(options);
    std::thread canceller([&] {
        Database database(primary_.conninfo());
        until([&] {
            return database.value("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") ==
                   "t";
        });
    });
    EXPECT_EQ(client.create_transaction(request_).outcome, Outcome::replayed);
    canceller.join();
    EXPECT_EQ(attempted_.words(), "08007 replayed");
}

} // namespace
} // namespace idem::client::test
