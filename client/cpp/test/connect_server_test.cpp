#include "connect.h"

#include "cluster.h"
#include "error_of.h"
#include "server.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace idem::client::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Connects where every name is that of this machine.
ConnectionPtr connect_by_name(const std::string &conninfo)
{
    Names names([](const std::string &) { return std::vector<std::string>{"127.0.0.1"}; });
    return connect(resolve_hosts(conninfo), names, seconds(10), Deadline::after(seconds(10)));
}

TEST(ConnectByName, FindsThePasswordOfTheName)
{
    const Folder folder;
    const std::string file = folder.path() + "/passwords";
    const std::string password = environment("PGPASSWORD");
    std::ofstream(file) << "db.test:*:*:*:" << password << "\n127.0.0.1:*:*:*:wrong\n";
    std::filesystem::permissions(file, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    const std::string conninfo = " passfile=" + file + " port=" + environment("PGPORT");
    unsetenv("PGPASSWORD");
    EXPECT_EQ(sqlstate_of([&] { connect_by_name("host=db.test" + conninfo); }), "none");
    EXPECT_EQ(sqlstate_of([&] { connect_by_name("host=other.test" + conninfo); }), "08001"); // no password
    EXPECT_EQ(sqlstate_of([&] { connect_by_name("host=127.0.0.1" + conninfo); }), "28P01");
    setenv("PGPASSWORD", password.c_str(), 1);
}

TEST(ConnectByName, ComparesTheNameWithTheCertificate)
{
    if (run_program({"sh", "-c", "command -v openssl >/dev/null"}) != 0) {
        GTEST_SKIP() << "there is no openssl";
    }
    const Folder folder;
    const std::string certificate = folder.path() + "/certificate";
    const std::string key = folder.path() + "/key";
    ASSERT_EQ(
        run_program({"openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=db.test",
                     "-addext", "subjectAltName=DNS:db.test", "-keyout", key, "-out", certificate}),
        0);
    std::filesystem::permissions(key, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    Cluster cluster;
    cluster.set("ssl", "on");
    cluster.set("ssl_cert_file", certificate);
    cluster.set("ssl_key_file", key);
    cluster.stop();
    cluster.start();
    const auto connect = [&](const std::string &name) {
        return connect_by_name(cluster.conninfo() + " sslmode=verify-full sslrootcert=" + certificate +
                               " host=" + name);
    };
    EXPECT_EQ(PQsslInUse(connect("db.test").get()), 1);
    const auto error = error_of([&] { connect("other.test"); });
    ASSERT_TRUE(error);
    EXPECT_NE(error->detail().find("does not match host name"), std::string::npos) << error->detail();
}

// Through libpq's own names: a time of nothing is no limit.
TEST(ConnectByName, ReachesTheServerOfTheMachine)
{
    Client client({.conninfo = "host=localhost port=" + environment("PGPORT"), .connect_timeout = milliseconds(0)});
    EXPECT_EQ(client.create_transaction(make_request()).outcome, Outcome::created);
}

} // namespace
} // namespace idem::client::test
