#include <idem/client.hpp>

#include "cluster.h"
#include "error_of.h"
#include "proxy.h"
#include "server.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace idem::client::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

using Clock = std::chrono::steady_clock;

std::string hosts(const std::vector<int> &ports)
{
    std::string host = "host=";
    std::string port = " port=";
    for (const int one : ports) {
        host += one == ports.front() ? "127.0.0.1" : ",127.0.0.1";
        port += (one == ports.front() ? "" : ",") + std::to_string(one);
    }
    return host + port + " user=postgres dbname=postgres";
}

// Waits until the standby has all that the primary has now.
bool has_caught_up(const Cluster &standby, const Cluster &primary)
{
    const std::string lsn = Database(primary.conninfo()).value("SELECT pg_current_wal_insert_lsn()");
    return until([&] {
        return Database(standby.conninfo()).value("SELECT pg_last_wal_replay_lsn() >= '" + lsn + "'::pg_lsn") == "t";
    });
}

// A primary that all tests share.
class Hosts : public testing::Test {
protected:
    static void SetUpTestSuite() { primary = std::make_unique<Cluster>(); }
    static void TearDownTestSuite() { primary.reset(); }

    static std::unique_ptr<Cluster> primary;
    Attempted attempted_;
    Request request_ = make_request();
};

std::unique_ptr<Cluster> Hosts::primary;

// case H71
TEST_F(Hosts, AStandbyIsNotAskedForTransactions)
{
    const Cluster standby(*primary, "second");
    Client direct({.conninfo = standby.conninfo(), .retry = {.deadline = milliseconds(500)}});
    const auto error = error_of<RetriesExhausted>([&] { direct.create_transaction(request_); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->sqlstate(), "08001");
    EXPECT_FALSE(error->in_doubt());
    Client any({.conninfo = standby.conninfo() + " target_session_attrs=any",
                .retry = {.deadline = seconds(30), .attempts = 3},
                .on_attempt = attempted_.hook()});
    EXPECT_EQ(sqlstate_of([&] { any.create_transaction(request_); }), "25006");
    EXPECT_EQ(attempted_.words(), "25006 25006 25006");
}

// case H72: dead port, black hole, standby, primary
TEST_F(Hosts, ThePrimaryIsFoundAmongTheHosts)
{
    const Cluster standby(*primary, "second");
    Proxy silent("127.0.0.1", std::to_string(primary->port()));
    silent.order("hold on");
    Client client({.conninfo = hosts({free_port(), silent.port(), standby.port(), primary->port()}),
                   .connect_timeout = milliseconds(300),
                   .on_attempt = attempted_.hook()});
    const auto start = Clock::now();
    EXPECT_EQ(client.create_transaction(request_).outcome, Outcome::created);
    EXPECT_LT(Clock::now() - start, 4 * milliseconds(300));
    EXPECT_EQ(attempted_.words(), "created");
    EXPECT_EQ(attempted_.all()[0].instance, "127.0.0.1:" + std::to_string(primary->port()));
}

TEST_F(Hosts, ASilentHostEndsWithTheDeadlineOfAll)
{
    Proxy silent("127.0.0.1", std::to_string(primary->port()));
    silent.order("hold on");
    Client client({.conninfo = hosts({silent.port(), silent.port(), silent.port()}),
                   .connect_timeout = seconds(10),
                   .retry = {.deadline = milliseconds(500)}});
    const auto start = Clock::now();
    EXPECT_TRUE(error_of<RetriesExhausted>([&] { client.create_transaction(request_); }));
    EXPECT_LT(Clock::now() - start, milliseconds(1500));
}

TEST_F(Hosts, ServiceFileAndEnvironmentAreRead)
{
    const Folder folder;
    const std::string file = folder.path() + "/services";
    std::ofstream(file) << "[shop]\nhost=127.0.0.1,127.0.0.1\nport=" << free_port() << ',' << primary->port()
                        << "\nuser=postgres\ndbname=postgres\n";
    setenv("PGSERVICEFILE", file.c_str(), 1);
    Client client({.conninfo = "service=shop"});
    EXPECT_EQ(client.create_transaction(request_).outcome, Outcome::created);
    EXPECT_EQ(rows_of(request_.tenant_id, primary->conninfo()), 1);
    unsetenv("PGSERVICEFILE");
}

// case H80: a stale route leads to a server that is no primary, for a while
TEST_F(Hosts, AStaleRouteIsSurvivedAndStoresOnce)
{
    const Cluster standby(*primary, "second");
    Proxy route("127.0.0.1", std::to_string(primary->port()));
    Client client({.conninfo = conninfo_at(route.port(), "user=postgres dbname=postgres target_session_attrs=any"),
                   .retry = {.deadline = seconds(20), .attempts = 1000, .longest_pause = milliseconds(200)},
                   .on_attempt = attempted_.hook()});
    client.create_transaction(make_request());
    ASSERT_TRUE(has_caught_up(standby, *primary));
    route.order("target 127.0.0.1 " + std::to_string(standby.port()));
    route.order("cut");
    std::thread mender([&] {
        std::this_thread::sleep_for(seconds(2));
        route.order("target 127.0.0.1 " + std::to_string(primary->port()));
    });
    for (int i = 0; i < 5; ++i) {
        Request one = request_;
        one.key = Key("k" + std::to_string(i));
        EXPECT_EQ(client.create_transaction(one).outcome, Outcome::created);
    }
    mender.join();
    std::vector<Seen> seen = attempted_.all();
    const auto refused =
        std::count_if(seen.begin(), seen.end(), [](const Seen &one) { return one.sqlstate == "25006"; });
    EXPECT_GE(refused, 3);
    EXPECT_EQ(static_cast<std::size_t>(refused) + 6, seen.size()) << attempted_.words();
    EXPECT_EQ(rows_of(request_.tenant_id, primary->conninfo()), 5);
}

// case H72
TEST(Switchover, IsFollowed)
{
    Cluster primary;
    const Request request = make_request();
    Attempted attempted;
    Cluster standby(primary, "second");
    Client client({.conninfo = hosts({primary.port(), standby.port()}),
                   .connect_timeout = milliseconds(500),
                   .retry = {.deadline = seconds(20), .attempts = 1000, .longest_pause = milliseconds(100)},
                   .on_attempt = attempted.hook()});
    EXPECT_EQ(client.create_transaction(request).outcome, Outcome::created);
    ASSERT_TRUE(has_caught_up(standby, primary));
    primary.stop();
    std::thread promoter([&] { standby.promote(); });
    const Request other = make_request();
    EXPECT_EQ(client.create_transaction(other).outcome, Outcome::created);
    promoter.join();
    EXPECT_EQ(client.create_transaction(request).outcome, Outcome::replayed);
    EXPECT_EQ(attempted.all().back().instance, "127.0.0.1:" + std::to_string(standby.port()));
    EXPECT_EQ(rows_of(request.tenant_id, standby.conninfo()), 1);
    EXPECT_EQ(rows_of(other.tenant_id, standby.conninfo()), 1);
}

} // namespace
} // namespace idem::client::test
