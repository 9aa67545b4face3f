#include "connect.h"

#include "error_of.h"
#include "fake_server.h"

#include <gtest/gtest.h>

#include <chrono>
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

// A socket that is always ready hides no deadline.
TEST(Connect, AServerThatNeverStopsTalkingEndsWithTheTime)
{
    const FakeServer server("127.0.0.1", &chatter);
    testing::internal::CaptureStderr();
    const auto start = Clock::now();
    EXPECT_EQ(sqlstate_of([&] {
                  connect(parameters("127.0.0.1", server.port()), milliseconds(300), Deadline::after(seconds(10)));
              }),
              "08001");
    EXPECT_LT(Clock::now() - start, seconds(2));
    testing::internal::GetCapturedStderr();
}

} // namespace
} // namespace idem::client::test
