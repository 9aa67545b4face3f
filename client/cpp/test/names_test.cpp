#include "names.h"

#include "error_of.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace idem::client::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Names, AreWhatIsNeitherAnAddressNorAPlaceOfSockets)
{
    for (const char *host : {"", "/run/postgresql", "@postgresql", "127.0.0.1", "::1", "fe80::1%lo", "2001:db8::7"}) {
        EXPECT_FALSE(is_name(host)) << host;
    }
    for (const char *host : {"localhost", "db.test", "127.0.0.1.test"}) {
        EXPECT_TRUE(is_name(host)) << host;
    }
}

TEST(Names, AreLookedUpByTheSystem)
{
    Names names;
    const std::vector<std::string> addresses = names.addresses_of("localhost", Deadline::after(seconds(30)));
    EXPECT_TRUE(std::find(addresses.begin(), addresses.end(), "127.0.0.1") != addresses.end() ||
                std::find(addresses.begin(), addresses.end(), "::1") != addresses.end());
    for (const std::string &address : addresses) {
        EXPECT_FALSE(is_name(address)) << address;
        EXPECT_EQ(std::count(addresses.begin(), addresses.end(), address), 1);
    }
    // Too long a name for anybody to be asked.
    const auto error = error_of([&] { names.addresses_of(std::string(300, 'x'), Deadline::after(seconds(30))); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->sqlstate(), "08001");
    EXPECT_NE(error->detail().find("could not be looked up"), std::string::npos) << error->detail();
}

TEST(Names, WithoutAnAddressAreAnError)
{
    Names names([](const std::string &) { return std::vector<std::string>(); });
    EXPECT_EQ(sqlstate_of([&] { names.addresses_of("db.test", Deadline::after(seconds(30))); }), "08001");
}

// A resolver that hangs holds nobody beyond the deadline, and has one thread.
TEST(Names, AResolverThatHangsEndsWithTheDeadline)
{
    std::promise<void> released;
    std::atomic<int> lookups = 0;
    {
        Names names([&, release = released.get_future().share()](const std::string &) {
            ++lookups;
            release.wait();
            return std::vector<std::string>{"192.0.2.1"};
        });
        for (int i = 0; i < 5; ++i) {
            const auto start = std::chrono::steady_clock::now();
            EXPECT_EQ(sqlstate_of([&] { names.addresses_of("db.test", Deadline::after(milliseconds(50))); }), "08001");
            EXPECT_LT(std::chrono::steady_clock::now() - start, seconds(2));
        }
        EXPECT_EQ(lookups, 1);
        std::thread waiter([&] {
            EXPECT_EQ(names.addresses_of("db.test", Deadline::after(seconds(30))),
                      std::vector<std::string>{"192.0.2.1"});
        });
        std::this_thread::sleep_for(milliseconds(20));
        released.set_value();
        waiter.join();
        EXPECT_EQ(lookups, 1);
    }
    // What is known is asked for again.
    std::atomic<int> asked = 0;
    Names names([&](const std::string &) { return std::vector<std::string>{"192.0.2." + std::to_string(++asked)}; });
    for (const char *address : {"192.0.2.1", "192.0.2.2"}) {
        EXPECT_EQ(names.addresses_of("db.test", Deadline::after(seconds(30))), std::vector<std::string>{address});
    }
}

// A lookup may outlive all that wanted to know.
TEST(Names, MayGoWhileTheyAreLookedUp)
{
    std::promise<void> released;
    auto done = std::make_shared<std::promise<void>>();
    auto ended = done->get_future();
    {
        Names names([done, release = released.get_future().share()](const std::string &) {
            release.wait();
            done->set_value();
            return std::vector<std::string>{"192.0.2.1"};
        });
        EXPECT_EQ(sqlstate_of([&] { names.addresses_of("db.test", Deadline::after(milliseconds(10))); }), "08001");
    }
    released.set_value();
    EXPECT_EQ(ended.wait_for(seconds(30)), std::future_status::ready);
}

} // namespace
} // namespace idem::client::test
