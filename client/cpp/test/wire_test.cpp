#include "wire.h"

#include "connect.h"
#include "error_of.h"
#include "fake_server.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace idem::client::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A socket that is always ready hides no deadline.
TEST(Wire, AServerThatNeverStopsTalkingEndsWithTheTime)
{
    const FakeServer server("127.0.0.1", [](const FakeServer::Send &send) {
        welcome(send);
        chatter(send);
    });
    Names names;
    const ConnectionPtr connection =
        connect(resolve_hosts("host=127.0.0.1 port=" + std::to_string(server.port()) +
                              " user=u dbname=d sslmode=disable gssencmode=disable target_session_attrs=any"),
                names, seconds(5), Deadline::after(seconds(5)));
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(sqlstate_of([&] { Wire(connection.get(), Deadline::after(milliseconds(300))).run({"SELECT 1"}); }),
              "57014");
    EXPECT_LT(std::chrono::steady_clock::now() - start, milliseconds(1300));
}

} // namespace
} // namespace idem::client::test
