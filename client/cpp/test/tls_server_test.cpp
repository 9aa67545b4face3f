#include <idem/client.hpp>

#include "cluster.h"
#include "error_of.h"
#include "proxy.h"
#include "server.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace idem::client::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

using Clock = std::chrono::steady_clock;

constexpr char kName[] = "db.test";

// A key and a certificate for the name, signed by itself, as FOLDER/FILE.key and FOLDER/FILE.crt.
void make_certificate(const std::string &folder, const std::string &file, const std::string &name)
{
    const std::string path = folder + "/" + file;
    const std::string command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
                                "-subj /CN=" +
                                name + " -addext subjectAltName=DNS:" + name + " -keyout " + path + ".key -out " +
                                path + ".crt 2>" + path + ".log";
    if (run_program({"sh", "-c", command}) != 0) {
        throw std::runtime_error("could not make a certificate");
    }
}

// A server that takes encrypted connections only, with a certificate for the name.
class Tls : public testing::Test {
protected:
    static void SetUpTestSuite()
    {
        folder = std::make_unique<Folder>();
        server = std::make_unique<Cluster>();
        make_certificate(folder->path(), "server", kName);
        make_certificate(folder->path(), "stranger", kName);
        const std::string rules = Database(server->conninfo()).value("SHOW hba_file");
        server->stop();
        server->set("ssl", "on");
        server->set("ssl_cert_file", folder->path() + "/server.crt");
        server->set("ssl_key_file", folder->path() + "/server.key");
        std::ofstream(rules) << "hostssl all all 127.0.0.1/32 trust\n";
        server->start();
    }

    static void TearDownTestSuite()
    {
        server.reset();
        folder.reset();
    }

    static std::string conninfo(const std::string &name = kName, const std::string &authority = "server",
                                int port = server->port())
    {
        return "host=" + name + " hostaddr=127.0.0.1 port=" + std::to_string(port) +
               " user=postgres dbname=postgres sslmode=verify-full sslrootcert=" + folder->path() + "/" + authority +
               ".crt application_name=tls_test";
    }

    // What a client is told that may not connect.
    static std::string refusal_of(const std::string &conninfo, const Request &request)
    {
        Client client({.conninfo = conninfo, .retry = {.deadline = seconds(20), .attempts = 2}});
        const auto error = error_of<RetriesExhausted>([&] { client.create_transaction(request); });
        if (!error) {
            return "nothing";
        }
        EXPECT_EQ(error->sqlstate(), "08001");
        EXPECT_EQ(error->message(), "could not connect to the server");
        EXPECT_FALSE(error->in_doubt());
        return error->detail();
    }

    // How many sessions of the clients there are that match the condition.
    static std::string sessions(const std::string &condition)
    {
        return Database(server->conninfo())
            .value("SELECT count(*) FROM pg_stat_activity JOIN pg_stat_ssl USING (pid) "
                   "WHERE application_name = 'tls_test' AND " +
                   condition);
    }

    static std::unique_ptr<Folder> folder;
    static std::unique_ptr<Cluster> server;
    Attempted attempted_;
    Request request_ = make_request();
};

std::unique_ptr<Folder> Tls::folder;
std::unique_ptr<Cluster> Tls::server;

TEST_F(Tls, TheServerThatTheCertificateNamesIsServed)
{
    Client client({.conninfo = conninfo(), .on_attempt = attempted_.hook()});
    const Result created = client.once(request_, [](Transaction &tx, const Result &) {
        EXPECT_EQ(PQsslInUse(tx.native()), 1);
        EXPECT_EQ(tx.run("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()").at(0, 0), "t");
    });
    EXPECT_EQ(created.outcome, Outcome::created);
    EXPECT_EQ(client.create_transaction(request_).transaction_id, created.transaction_id);
    EXPECT_EQ(attempted_.words(), "created replayed");
    EXPECT_EQ(attempted_.all()[0].instance, std::string(kName) + ":" + std::to_string(server->port()));
}

TEST_F(Tls, AConnectionOfTheApplicationIsServed)
{
    const Database connection(conninfo());
    ASSERT_EQ(PQsslInUse(connection.native()), 1);
    EXPECT_EQ(create_transaction(connection.native(), request_, {.timeout = seconds(10)}).outcome, Outcome::created);
}

TEST_F(Tls, AnotherNameIsRefused)
{
    const std::string detail = refusal_of(conninfo("other.test"), request_);
    EXPECT_NE(detail.find("\"db.test\""), std::string::npos) << detail;
    EXPECT_NE(detail.find("does not match host name \"other.test\""), std::string::npos) << detail;
    EXPECT_EQ(rows_of(request_.tenant_id, server->conninfo()), 0);
}

TEST_F(Tls, AnotherAuthorityIsRefused)
{
    const std::string detail = refusal_of(conninfo(kName, "stranger"), request_);
    EXPECT_NE(detail.find("certificate verify failed"), std::string::npos) << detail;
    EXPECT_EQ(rows_of(request_.tenant_id, server->conninfo()), 0);
}

TEST_F(Tls, AServerWithoutEncryptionIsRefused)
{
    const std::string detail = refusal_of(conninfo(kName, "server", std::stoi(environment("PGPORT"))), request_);
    EXPECT_NE(detail.find("server does not support SSL, but SSL was required"), std::string::npos) << detail;
}

TEST_F(Tls, AClientWithoutEncryptionIsTurnedAway)
{
    Client client({.conninfo = server->conninfo() + " sslmode=disable"});
    EXPECT_EQ(sqlstate_of([&] { client.create_transaction(request_); }), "28000");
}

TEST_F(Tls, EveryConnectionOfThePoolIsEncrypted)
{
    Client client({.conninfo = conninfo(), .pool_size = 4, .retry = {.deadline = seconds(20)}});
    const auto call_all = [&](Outcome outcome) {
        std::vector<std::thread> threads;
        threads.reserve(4);
        for (int i = 0; i < 4; ++i) {
            threads.emplace_back([&, i] {
                for (int j = 0; j < 25; ++j) {
                    Request request = request_;
                    request.key = Key("k" + std::to_string(i) + "-" + std::to_string(j));
                    EXPECT_EQ(client.create_transaction(request).outcome, outcome);
                }
            });
        }
        for (std::thread &thread : threads) {
            thread.join();
        }
    };
    call_all(Outcome::created);
    EXPECT_NE(sessions("ssl"), "0");
    EXPECT_EQ(sessions("NOT ssl"), "0");
    Database(server->conninfo())
        .value("SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity "
               "WHERE application_name = 'tls_test'");
    call_all(Outcome::replayed);
    EXPECT_NE(sessions("ssl"), "0");
    EXPECT_EQ(rows_of(request_.tenant_id, server->conninfo()), 100);
}

TEST_F(Tls, ADeadlineCancelsWhatRuns)
{
    const Database holder(server->conninfo());
    holder.value("BEGIN");
    create_transaction(holder.native(), request_);
    Client client({.conninfo = conninfo(), .retry = {.deadline = milliseconds(500)}});
    const auto start = Clock::now();
    const auto error = error_of<RetriesExhausted>([&] { client.create_transaction(request_); });
    EXPECT_LT(Clock::now() - start, milliseconds(500) + seconds(1));
    ASSERT_TRUE(error);
    EXPECT_EQ(error->sqlstate(), "57014");
    EXPECT_FALSE(error->in_doubt()) << "the server has said that it was cancelled";
    EXPECT_TRUE(until([] { return sessions("state = 'active'") == "0"; }));
    holder.value("COMMIT");
    EXPECT_EQ(client.create_transaction(request_).outcome, Outcome::replayed);
}

// Octets may be decrypted already when nothing more comes from the network.
TEST_F(Tls, AnswersOfAllSizesArriveAtOnce)
{
    Client client({.conninfo = conninfo(), .retry = {.deadline = seconds(3), .attempts = 1}});
    for (std::size_t size = 7000; size < 100'000; size += 3019) {
        request_.key = Key("k" + std::to_string(size));
        request_.details = R"({"text": ")" + std::string(size, 'x') + R"("})";
        ASSERT_EQ(client.create_transaction(request_).outcome, Outcome::created);
        ASSERT_EQ(client.create_transaction(request_).details, request_.details);
    }
    std::vector<Request> batch(5000, request_);
    for (std::size_t i = 0; i < batch.size(); ++i) {
        batch[i].key = Key("b" + std::to_string(i));
        batch[i].details = "{}";
    }
    Client patient({.conninfo = conninfo(), .retry = {.deadline = seconds(60), .attempts = 1}});
    EXPECT_EQ(patient.create_transactions(batch).back().outcome, Outcome::created);
}

// case H74
TEST_F(Tls, ASilentNetworkEndsACallAtItsDeadline)
{
    for (const bool connected : {false, true}) {
        Proxy proxy("127.0.0.1", std::to_string(server->port()));
        Client client({.conninfo = conninfo(kName, "server", proxy.port()),
                       .connect_timeout = seconds(10),
                       .retry = {.deadline = milliseconds(500)}});
        if (connected) {
            client.server_version();
        }
        proxy.order("hold on");
        const auto start = Clock::now();
        EXPECT_TRUE(error_of<RetriesExhausted>([&] { client.create_transaction(request_); }));
        EXPECT_LT(Clock::now() - start, milliseconds(500) + seconds(1));
    }
    EXPECT_EQ(rows_of(request_.tenant_id, server->conninfo()), 0);
}

} // namespace
} // namespace idem::client::test
