#include <idem/client.hpp>

#include "cluster.h"
#include "error_of.h"
#include "server.h"

#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace idem::client::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// PgBouncer in transaction mode in front of the test's server.
class Pooler {
public:
    Pooler() : port_(free_port())
    {
        std::ofstream users(folder_.path() + "/users");
        users << '"' << std::getenv("PGUSER") << "\" \"" << std::getenv("PGPASSWORD") << "\"\n";
        users.close();
        std::ofstream settings(folder_.path() + "/settings");
        settings << "[databases]\n* = host=127.0.0.1 port=" << std::getenv("PGPORT") << "\n[pgbouncer]\n"
                 << "listen_addr = 127.0.0.1\nlisten_port = " << port_ << "\nunix_socket_dir =\n"
                 << "auth_type = plain\nauth_file = " << folder_.path() << "/users\n"
                 << "pool_mode = transaction\ndefault_pool_size = 2\n"
                 << "logfile = " << folder_.path() << "/log\n";
        settings.close();
        start();
    }
    Pooler(const Pooler &) = delete;
    Pooler &operator=(const Pooler &) = delete;
    ~Pooler() { stop(); }

    static bool is_installed()
    {
        return run_program({"sh", "-c", "command -v pgbouncer >/dev/null || test -x /usr/sbin/pgbouncer"}) == 0;
    }

    [[nodiscard]] std::string conninfo() const { return conninfo_at(port_); }

    void start()
    {
        process_ = fork();
        if (process_ == 0) {
            // Debian has it outside of the PATH of users.
            const std::string command = "PATH=$PATH:/usr/sbin exec pgbouncer -q " + folder_.path() + "/settings";
            execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
            _exit(127);
        }
        ASSERT_TRUE(until([&] { return PQping(conninfo().c_str()) == PQPING_OK; }));
    }

    void stop() const
    {
        kill(process_, SIGKILL);
        waitpid(process_, nullptr, 0);
    }

private:
    Folder folder_;
    int port_;
    pid_t process_ = -1;
};

class PoolerTest : public testing::Test {
protected:
    void SetUp() override
    {
        if (!Pooler::is_installed()) {
            GTEST_SKIP() << "there is no pgbouncer";
        }
    }
};

TEST_F(PoolerTest, TransactionModeServesEveryCall)
{
    Pooler pooler;
    Client client({.conninfo = pooler.conninfo(), .retry = {.deadline = seconds(20)}});
    const std::string tenant = unique_name();
    std::vector<std::thread> threads;
    threads.reserve(6);
    for (int i = 0; i < 6; ++i) {
        threads.emplace_back([&] {
            for (int j = 0; j < 25; ++j) {
                Request request = make_request();
                request.tenant_id = tenant;
                request.key = Key("k" + std::to_string(j));
                client.once(request, [](Transaction &tx, const Result &) { tx.run("SELECT $1::int", {1}); });
                EXPECT_EQ(client.create_transaction(request).outcome, Outcome::replayed);
                client.create_transactions(std::vector{request});
                Transaction tx = client.begin();
                tx.try_create_transaction(request);
                tx.commit();
            }
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    EXPECT_EQ(rows_of(tenant), 25);
}

TEST_F(PoolerTest, ARestartIsSurvived)
{
    Pooler pooler;
    Attempted attempted;
    Client client({.conninfo = pooler.conninfo(),
                   .retry = {.deadline = seconds(20), .attempts = 1000, .longest_pause = milliseconds(100)},
                   .on_attempt = attempted.hook()});
    const Request request = make_request();
    int runs = 0;
    const Result result = client.once(request, [&](Transaction &tx, const Result &) {
        if (++runs == 1) {
            pooler.stop();
            pooler.start();
        }
        tx.run("SELECT 1");
    });
    EXPECT_EQ(result.outcome, Outcome::created);
    EXPECT_EQ(runs, 2);
    EXPECT_EQ(rows_of(request.tenant_id), 1);
}

// The pooler's own last words, when its server is gone, are a protocol violation.
TEST_F(PoolerTest, AServerThatDiesBehindThePoolerIsALostConnection)
{
    Pooler pooler;
    Attempted attempted;
    Client client({.conninfo = pooler.conninfo(), .retry = {.deadline = seconds(20)}, .on_attempt = attempted.hook()});
    const Request request = make_request();
    int runs = 0;
    const Result result = client.once(request, [&](Transaction &tx, const Result &) {
        if (++runs == 1) {
            const std::string pid(tx.run("SELECT pg_backend_pid()").at(0, 0).value());
            Database().value("SELECT pg_terminate_backend(" + pid + ", 10000)");
        }
        tx.run("SELECT 1");
    });
    EXPECT_EQ(result.outcome, Outcome::created);
    EXPECT_EQ(runs, 2);
    ASSERT_EQ(attempted.all().size(), 2U);
    EXPECT_EQ(attempted.all()[0].action, Action::unknown) << attempted.all()[0].sqlstate;
    EXPECT_EQ(rows_of(request.tenant_id), 1);
}

} // namespace
} // namespace idem::client::test
