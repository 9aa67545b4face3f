#include "connect.h"

#include "error_of.h"
#include "fake_server.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace idem::client::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

using Clock = std::chrono::steady_clock;

// The parameters for a connection in clear text to whatever answers.
std::vector<ConnectionParameters> parameters(const std::string &hosts, int port)
{
    return resolve_hosts("host=" + hosts + " port=" + std::to_string(port) +
                         " user=u dbname=d sslmode=disable gssencmode=disable target_session_attrs=any");
}

// Servers at several addresses with one port, of which an address without a play has none; and a name for all of them.
class Servers {
public:
    static constexpr char kName[] = "db.test";

    explicit Servers(const std::vector<FakeServer::Play> &plays)
    {
        for (int attempts = 100; servers_.empty(); --attempts) {
            try {
                listen(plays);
            } catch (const std::runtime_error &) { // the port is taken at one of them
                servers_.clear();
                if (attempts == 0) {
                    throw;
                }
            }
        }
    }

    ConnectionPtr connect(const std::string &hosts, milliseconds longest, Deadline deadline)
    {
        return client::connect(parameters(hosts, port_), names_, longest, deadline);
    }

    static std::string address(std::size_t number) { return "127.0.0." + std::to_string(number + 1); }
    [[nodiscard]] int count(std::size_t number) const { return servers_[number] ? servers_[number]->count() : 0; }

private:
    void listen(const std::vector<FakeServer::Play> &plays)
    {
        port_ = 0;
        addresses_.clear();
        for (std::size_t i = 0; i < plays.size(); ++i) {
            addresses_.push_back(address(i));
            servers_.push_back(plays[i] ? std::make_unique<FakeServer>(address(i), plays[i], port_) : nullptr);
            port_ = servers_.back() ? servers_.back()->port() : port_;
        }
    }

    std::vector<std::string> addresses_;
    std::vector<std::unique_ptr<FakeServer>> servers_;
    int port_ = 0;
    Names names_{
        [this](const std::string &name) { return name == kName ? addresses_ : throw Error("08001", "no such name"); }};
};

// A socket that is always ready hides no deadline.
TEST(Connect, AServerThatNeverStopsTalkingEndsWithTheTime)
{
    Servers servers({&let_in_and_chatter});
    const auto start = Clock::now();
    EXPECT_EQ(sqlstate_of([&] { servers.connect("127.0.0.1", milliseconds(300), Deadline::after(seconds(10))); }),
              "08001");
    EXPECT_LT(Clock::now() - start, seconds(2));
}

TEST(Connect, ASilentAddressOfANameDoesNotHideTheOthers)
{
    Servers servers({&stay_silent, &stay_silent, &welcome});
    const auto start = Clock::now();
    const ConnectionPtr connection = servers.connect(Servers::kName, seconds(10), Deadline::after(milliseconds(1500)));
    EXPECT_STREQ(PQhost(connection.get()), Servers::kName);
    EXPECT_STREQ(PQhostaddr(connection.get()), "127.0.0.3");
    // A third of the time, and half of what is left then.
    EXPECT_GE(Clock::now() - start, milliseconds(900));
    EXPECT_EQ(servers.count(0) + servers.count(1) + servers.count(2), 3);
}

TEST(Connect, ASilentHostDoesNotHideTheOthers)
{
    Servers servers({&stay_silent, &stay_silent, &welcome});
    const ConnectionPtr connection =
        servers.connect("127.0.0.1,127.0.0.2,127.0.0.3", seconds(10), Deadline::after(milliseconds(1500)));
    EXPECT_STREQ(PQhost(connection.get()), "127.0.0.3");
}

TEST(Connect, EachAddressHasItsTime)
{
    Servers servers({&stay_silent, &stay_silent, &welcome});
    const auto start = Clock::now();
    servers.connect(Servers::kName, milliseconds(200), Deadline::after(seconds(30)));
    EXPECT_GE(Clock::now() - start, milliseconds(400));
    EXPECT_LT(Clock::now() - start, seconds(2));
}

TEST(Connect, ATimeOfNothingIsNoLimit)
{
    Servers servers({&stay_silent, &welcome});
    const ConnectionPtr connection =
        servers.connect(Servers::kName, milliseconds(0), Deadline::after(milliseconds(600)));
    EXPECT_STREQ(PQhostaddr(connection.get()), "127.0.0.2");
}

TEST(Connect, ANameWithoutAddressDoesNotHideTheOtherHosts)
{
    Servers servers({&welcome});
    EXPECT_STREQ(PQhost(servers.connect("none.test,127.0.0.1", seconds(1), Deadline::after(seconds(5))).get()),
                 "127.0.0.1");
    const auto error = error_of([&] { servers.connect("none.test", seconds(1), Deadline::after(seconds(5))); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->sqlstate(), "08001");
    EXPECT_EQ(error->message(), "no such name");
}

TEST(Connect, ARefusalForGoodHoldsForAllAddressesOfAName)
{
    Servers servers({refuse_with("28P01"), &welcome});
    const auto connect = [&](const std::string &hosts) {
        return sqlstate_of([&] { servers.connect(hosts, seconds(1), Deadline::after(seconds(5))); });
    };
    EXPECT_EQ(connect(Servers::kName), "28P01");
    EXPECT_EQ(servers.count(1), 0);
    // Another host may know better.
    EXPECT_EQ(connect("127.0.0.1,127.0.0.2"), "none");
}

// As with localhost, where a server listens at one of its addresses only.
TEST(Connect, ADeadAddressDoesNotHideARefusalForGood)
{
    Servers servers({nullptr, refuse_with("3D000")});
    EXPECT_EQ(sqlstate_of([&] { servers.connect(Servers::kName, seconds(1), Deadline::after(seconds(5))); }), "3D000");
}

TEST(Connect, ARefusalThatMayPassDoesNotHideTheOtherAddresses)
{
    Servers servers({refuse_with("57P03"), &welcome});
    EXPECT_STREQ(PQhostaddr(servers.connect(Servers::kName, seconds(1), Deadline::after(seconds(5))).get()),
                 "127.0.0.2");
}

} // namespace
} // namespace idem::client::test
