#include <idem/client.hpp>

#include "error_of.h"
#include "server.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace idem::client::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::string pid_of(Client &client)
{
    std::string pid;
    client.transact([&](Transaction &tx) { pid = tx.run("SELECT pg_backend_pid()").at(0, 0).value(); });
    return pid;
}

int sessions_named(const std::string &name)
{
    return std::stoi(Database().value("SELECT count(*) FROM pg_stat_activity WHERE application_name = '" + name + "'"));
}

TEST(ClientPool, OpensNothingBeforeItIsNeeded)
{
    const std::string name = unique_name();
    Client client({.conninfo = "application_name=" + name});
    EXPECT_EQ(sessions_named(name), 0);
    client.create_transaction(make_request());
    EXPECT_EQ(sessions_named(name), 1);
}

TEST(ClientPool, RefusesAConnectionStringAtOnce)
{
    for (const char *conninfo : {"nonsense=1", "postgresql://[::1", "service=there-is-none", "host=a,b,c port=1,2",
                                 "host=a,b hostaddr=127.0.0.1"}) {
        EXPECT_EQ(sqlstate_of([&] { Client client({.conninfo = conninfo}); }), "08001") << conninfo;
    }
    EXPECT_EQ(sqlstate_of([] { Client client({.conninfo = "host=a,b port=1"}); }), "none");
}

TEST(ClientPool, SaysWhyTheServerRefuses)
{
    Attempted attempted;
    Client client({.conninfo = "dbname=there_is_none", .on_attempt = attempted.hook()});
    const auto error = error_of([&] { client.create_transaction(make_request()); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->sqlstate(), "3D000");
    EXPECT_EQ(error->attempts(), 1);
    EXPECT_NE(error->detail().find("there_is_none"), std::string::npos);
    EXPECT_EQ(attempted.words(), "3D000");
    EXPECT_EQ(attempted.all()[0].instance, "");
}

TEST(ClientPool, ShowsNoPlaceInTheServersSource)
{
    const auto detail = [](const std::string &conninfo) {
        Client client({.conninfo = conninfo});
        return error_of([&] { client.server_version(); }).value().detail();
    };
    const std::string at = " port=" + environment("PGPORT");
    for (const std::string &conninfo :
         {std::string("dbname=there_is_none"), std::string("user=nobody_here"), "password=wrong host=127.0.0.1" + at}) {
        const std::string text = detail(conninfo);
        EXPECT_NE(text.find("FATAL"), std::string::npos) << text;
        EXPECT_EQ(text.find("LOCATION"), std::string::npos) << text;
        EXPECT_EQ(text.find(".c:"), std::string::npos) << text;
    }
}

TEST(ClientPool, AReceiverOfNoticesEndsWithItsTransaction)
{
    Client client({.pool_size = 1});
    int notices = 0;
    const auto notice = [](Transaction &tx) { tx.run("DO $$ BEGIN RAISE NOTICE 'here'; END $$"); };
    {
        Transaction tx = client.begin();
        PQsetNoticeReceiver(
            tx.native(), [](void *count, const PGresult *) { ++*static_cast<int *>(count); }, &notices);
        notice(tx);
        EXPECT_EQ(notices, 1);
    }
    client.transact(notice);
    EXPECT_EQ(notices, 1);
}

TEST(ClientPool, HasNoMoreConnectionsThanItMayHave)
{
    const std::string name = unique_name();
    Client client({.conninfo = "application_name=" + name, .pool_size = 2, .retry = {.deadline = seconds(10)}});
    std::atomic<int> most = 0;
    std::vector<std::thread> threads;
    threads.reserve(8);
    const Request request = make_request();
    for (int i = 0; i < 8; ++i) {
        threads.emplace_back([&, i] {
            for (int j = 0; j < 20; ++j) {
                Request one = request;
                one.key = Key("k" + std::to_string(i * 100 + j));
                client.create_transaction(one);
            }
            most = std::max<int>(most, sessions_named(name));
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    EXPECT_LE(most, 2);
    EXPECT_EQ(rows_of(request.tenant_id), 160);
}

TEST(ClientPool, WaitsForAConnectionUntilTheDeadline)
{
    Client client({.pool_size = 1, .retry = {.deadline = milliseconds(300)}});
    Transaction holder = client.begin();
    const Request request = make_request();
    const auto start = std::chrono::steady_clock::now();
    const auto error = error_of<RetriesExhausted>([&] { client.create_transaction(request); });
    const auto time = std::chrono::steady_clock::now() - start;
    ASSERT_TRUE(error);
    EXPECT_EQ(error->sqlstate(), "53300");
    EXPECT_FALSE(error->in_doubt());
    EXPECT_GE(time, milliseconds(300));
    EXPECT_LT(time, milliseconds(1300));
    // One that is given back goes to who waits for it.
    std::thread waiter([&] { EXPECT_EQ(client.create_transaction(request).outcome, Outcome::created); });
    std::this_thread::sleep_for(milliseconds(50));
    holder.rollback();
    waiter.join();
}

TEST(ClientPool, ReplacesAConnectionThatDiedWhileIdle)
{
    Attempted attempted;
    Client client({.pool_size = 1, .retry = {.attempts = 1}, .on_attempt = attempted.hook()});
    for (int i = 0; i < 5; ++i) {
        const std::string pid = pid_of(client);
        EXPECT_EQ(Database().value("SELECT pg_terminate_backend(" + pid + ", 10000)"), "t");
        EXPECT_NE(pid_of(client), pid);
    }
    EXPECT_EQ(attempted.words().find_first_not_of(' '), std::string::npos); // no failure
}

TEST(ClientPool, KeepsNoConnectionInAnUnknownState)
{
    Client client({.pool_size = 1});
    // The application leaves each of these behind.
    const std::vector<std::function<void(Transaction &)>> deeds{
        [](Transaction &tx) { PQenterPipelineMode(tx.native()); },
        [](Transaction &tx) { PQsendQuery(tx.native(), "SELECT pg_sleep(60)"); },
        [](Transaction &tx) { PQclear(PQexec(tx.native(), "COPY pg_am TO STDOUT")); },
        [](Transaction &tx) { EXPECT_EQ(sqlstate_of([&] { tx.run("SELECT 1/0"); }), "22012"); },
    };
    for (const auto &deed : deeds) {
        {
            Transaction tx = client.begin();
            deed(tx);
        }
        EXPECT_EQ(client.create_transaction(make_request()).outcome, Outcome::created);
    }
}

TEST(ClientPool, SendsTheSameOctetsWhateverAnActionHasSet)
{
    Client client({.pool_size = 1});
    client.transact([](Transaction &tx) { tx.run("SET client_encoding = 'LATIN1'"); });
    Request request = make_request();
    request.key = Key("caf\u00e9");
    EXPECT_EQ(client.create_transaction(request).outcome, Outcome::created);
    EXPECT_EQ(Client({}).create_transaction(request).outcome, Outcome::replayed);
}

TEST(ClientPool, RepeatsWhereAConnectionIsCutWhileItIsUsed)
{
    Attempted attempted;
    Client client({.pool_size = 1, .on_attempt = attempted.hook()});
    const Request request = make_request();
    int runs = 0;
    const Result result = client.once(request, [&](Transaction &tx, const Result &) {
        if (++runs == 1) {
            Database().value("SELECT pg_terminate_backend(" + std::to_string(PQbackendPID(tx.native())) + ", 10000)");
        }
        tx.run("SELECT 1");
    });
    EXPECT_EQ(result.outcome, Outcome::created);
    EXPECT_EQ(runs, 2);
    EXPECT_EQ(attempted.words(), "57P01 created");
    EXPECT_TRUE(attempted.all()[0].commit_known); // since there was none
    EXPECT_EQ(rows_of(request.tenant_id), 1);
}

TEST(ClientPool, ChecksTheVersionOfTheExtensionOnce)
{
    EXPECT_EQ(Client({}).server_version(), version());
    Database database;
    database.value("CREATE SCHEMA newer");
    database.value("CREATE FUNCTION newer.idem_version() RETURNS text LANGUAGE sql AS 'SELECT ''99.1.2'''");
    const auto error = error_of([] { Client({.schema = "newer"}).create_transaction(make_request()); });
    database.value("DROP SCHEMA newer CASCADE");
    ASSERT_TRUE(error);
    EXPECT_EQ(error->sqlstate(), "55000");
    EXPECT_EQ(error->detail(), "The client is " + std::string(version()) + ", the extension 99.1.2.");
}

TEST(ClientPool, SaysWhereTheExtensionIsMissing)
{
    for (const ClientOptions &options :
         {ClientOptions{.conninfo = "dbname=template1"}, ClientOptions{.schema = "nowhere"}}) {
        const auto error = error_of([&] { Client(options).create_transaction(make_request()); });
        ASSERT_TRUE(error);
        EXPECT_TRUE(error->sqlstate() == "42883" || error->sqlstate() == "3F000") << error->sqlstate();
        EXPECT_EQ(error->message(), "the extension idem is not in this database, or not found there");
        EXPECT_FALSE(error->hint().empty());
    }
}

TEST(ClientPool, WritesNothingOfWhatTheServerSays)
{
    testing::internal::CaptureStderr();
    Client client({.conninfo = "options='-c client_min_messages=debug5'"});
    EXPECT_EQ(client.create_transaction(make_request()).outcome, Outcome::created);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(ClientPool, TellsTheHookOfTheServer)
{
    Attempted attempted;
    Client client({.on_attempt = [&, hook = attempted.hook()](const Attempt &attempt) {
        hook(attempt);
        EXPECT_EQ(attempt.key, "cart-17");
        EXPECT_EQ(attempt.operation, "create-transaction");
        EXPECT_GT(attempt.duration.count(), 0);
        throw std::runtime_error("ignored");
    }});
    client.create_transaction(make_request());
    ASSERT_EQ(attempted.all().size(), 1U);
    EXPECT_EQ(attempted.all()[0].instance, environment("PGHOST") + ":" + environment("PGPORT"));
    EXPECT_EQ(attempted.words(), "created");
}

} // namespace
} // namespace idem::client::test
