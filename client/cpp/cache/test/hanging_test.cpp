#include "odd_server.h"
#include "record.h"
#include "redis_server.h"
#include "samples.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <csignal>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace std::literals;
using idem::cache::Redis;
using idem::cache::RedisOptions;
using idem::cache::write_record;
using idem::cache::test::a_request;
using idem::cache::test::its_replay;
using idem::cache::test::its_result;
using idem::cache::test::OddServer;
using idem::cache::test::patient;
using idem::cache::test::RedisServer;
using idem::cache::test::SilentPort;
using idem::cache::test::time_of;

namespace {

constexpr auto kTimeout = 50ms;
/// What a busy machine may add to a wait.
constexpr auto kSlack = 400ms;

RedisOptions short_options(std::uint16_t port)
{
    return {.port = port, .timeout = kTimeout, .warn = [](std::string_view) {}};
}

// Calls for a while on many threads; tells how many calls waited for Redis, and how many there were.
struct Waits {
    int slow = 0;
    int all = 0;
};
Waits call_for(Redis &cache, std::chrono::milliseconds duration, int threads)
{
    std::atomic<int> slow = 0;
    std::atomic<int> all = 0;
    const auto deadline = std::chrono::steady_clock::now() + duration;
    std::vector<std::thread> running;
    for (int i = 0; i < threads; ++i) {
        running.emplace_back([&] {
            while (std::chrono::steady_clock::now() < deadline) {
                const auto took = time_of([&] { EXPECT_FALSE(cache.find(a_request())); });
                EXPECT_LT(took, kTimeout + kSlack);
                // The breaker answers in microseconds; a call that the machine has merely kept waiting is not counted.
                slow += took >= kTimeout - 5ms ? 1 : 0;
                ++all;
                std::this_thread::sleep_for(200us);
            }
        });
    }
    for (auto &thread : running) {
        thread.join();
    }
    return {slow, all};
}

// Reads a command, up to what has come by then, and gives an answer.
std::function<void(int)> answering(std::string answer)
{
    return [answer = std::move(answer)](int connection) {
        char buffer[4096];
        if (recv(connection, buffer, sizeof(buffer), 0) > 0) {
            (void)send(connection, answer.data(), answer.size(), MSG_NOSIGNAL);
            (void)recv(connection, buffer, sizeof(buffer), 0); // until the other side has closed
        }
    };
}

} // namespace

TEST(HangingRedis, CostsOneCallOneTimeout)
{
    SilentPort silent;
    Redis cache(short_options(silent.port()));
    const auto first = time_of([&] { EXPECT_FALSE(cache.find(a_request())); });
    EXPECT_GE(first, kTimeout - 1ms);
    EXPECT_LT(first, kTimeout + kSlack);
    const auto next = time_of([&] {
        cache.store(a_request(), its_result());
        EXPECT_FALSE(cache.find(a_request()));
    });
    EXPECT_LT(next, kTimeout);
}

TEST(HangingRedis, CostsStoringOneTimeout)
{
    SilentPort silent;
    Redis cache(short_options(silent.port()));
    const auto took = time_of([&] { cache.store(a_request(), its_result()); });
    EXPECT_GE(took, kTimeout - 1ms);
    EXPECT_LT(took, kTimeout + kSlack);
}

TEST(HangingRedis, CostsOneTimeoutPerPauseWithManyThreads)
{
    SilentPort silent;
    Redis cache(short_options(silent.port()));
    const auto waits = call_for(cache, 2s, 16);
    // Those that came together at the start wait together. After that one call at a time tries, after pauses of 100,
    // 200, 400, 800 and 1600 ms.
    EXPECT_GE(waits.slow, 1);
    EXPECT_LE(waits.slow, 16 + 5);
    EXPECT_GT(waits.all, 1000);
}

TEST(HangingRedis, IsBoundedWhereConnectingHangs)
{
    SilentPort silent(true);
    auto options = short_options(silent.port());
    options.timeout = 300ms;
    Redis cache(options);
    const auto took = time_of([&] { EXPECT_FALSE(cache.find(a_request())); });
    EXPECT_GE(took, 299ms);
    EXPECT_LT(took, 300ms + kSlack);
}

TEST(HangingRedis, ReleasesThoseWhoWaitForAConnection)
{
    SilentPort silent;
    auto options = short_options(silent.port());
    options.timeout = 1000ms;
    options.connections = 1;
    Redis cache(options);
    std::thread first([&] { EXPECT_FALSE(cache.find(a_request())); });
    std::this_thread::sleep_for(500ms);
    // This one waits for the first one's connection. When that fails, it does not try by itself.
    const auto took = time_of([&] { EXPECT_FALSE(cache.find(a_request())); });
    first.join();
    EXPECT_LT(took, 500ms + kSlack);
}

TEST(HangingRedis, MakesTheOtherConnectionsSuspect)
{
    RedisServer server;
    auto options = short_options(server.port());
    options.timeout = 1000ms;
    Redis cache(options);
    // Two lookups that are held up together, so that there are two connections.
    server.run({"CLIENT", "PAUSE", "200"});
    std::thread other([&] { EXPECT_FALSE(cache.find(a_request())); });
    EXPECT_FALSE(cache.find(a_request()));
    other.join();
    EXPECT_EQ(server.clients(), 2);
    server.freeze();
    EXPECT_FALSE(cache.find(a_request()));
    server.thaw();
    const auto deadline = std::chrono::steady_clock::now() + 10s;
    while (server.clients() > 0 && std::chrono::steady_clock::now() < deadline) {
        std::this_thread::sleep_for(10ms);
    }
    EXPECT_EQ(server.clients(), 0);
}

TEST(HangingRedis, IsBoundedWhereItFreezesUnderCalls)
{
    RedisServer server;
    Redis cache(short_options(server.port()));
    Redis steady(patient(server.port()));
    steady.store(a_request(), its_result());
    server.freeze();
    const auto waits = call_for(cache, 1s, 8);
    EXPECT_GE(waits.slow, 1);
    EXPECT_LE(waits.slow, 8 + 4);
    server.thaw();
    // What it answers late belongs to connections that are closed.
    const auto deadline = std::chrono::steady_clock::now() + 10s;
    auto found = cache.find(a_request());
    while (!found && std::chrono::steady_clock::now() < deadline) {
        std::this_thread::sleep_for(10ms);
        found = cache.find(a_request());
    }
    EXPECT_EQ(found, its_replay());
}

TEST(HangingRedis, IsBoundedWhereTheAnswerDrips)
{
    const auto record = *write_record(a_request(), "", its_result());
    const auto answer = "$" + std::to_string(record.size()) + "\r\n" + record + "\r\n";
    OddServer server([&](int connection) {
        for (const char c : answer) {
            if (send(connection, &c, 1, MSG_NOSIGNAL) != 1) {
                return;
            }
            std::this_thread::sleep_for(5ms);
        }
    });
    Redis cache(short_options(server.port()));
    const auto took = time_of([&] { EXPECT_FALSE(cache.find(a_request())); });
    EXPECT_GE(took, kTimeout - 1ms);
    EXPECT_LT(took, kTimeout + kSlack);
}

TEST(HangingRedis, WarnsOncePerMinute)
{
    SilentPort silent;
    std::mutex mutex;
    std::vector<std::string> warnings;
    auto options = short_options(silent.port());
    options.warn = [&](std::string_view text) {
        const std::lock_guard lock(mutex);
        warnings.emplace_back(text);
        throw std::runtime_error("a log that fails is no reason to fail");
    };
    Redis cache(options);
    call_for(cache, 700ms, 4);
    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_EQ(warnings[0], "the result cache is not used: redis at 127.0.0.1:" + std::to_string(silent.port()) +
                               ": no answer in time");
}

TEST(OddRedis, AnswersNothingThatIsTaken)
{
    const auto record = *write_record(a_request(), "", its_result());
    const auto bulk = "$" + std::to_string(record.size()) + "\r\n" + record + "\r\n";
    // The first one shows that the server of this test is understood at all.
    for (const auto &[answer, hit] :
         std::vector<std::pair<std::string, bool>>{{bulk, true},
                                                   {bulk + "+OK\r\n", false},
                                                   {"+" + std::string("OK") + "\r\n", false},
                                                   {":1\r\n", false},
                                                   {"*1\r\n" + bulk, false},
                                                   {"*2147483647\r\n", false},
                                                   {"*-1\r\n", false},
                                                   {"$-1\r\n", false},
                                                   {"$99999999999999999999\r\n", false},
                                                   {"$-5\r\n", false},
                                                   {"HTTP/1.1 400 Bad Request\r\n\r\n", false},
                                                   {"-LOADING Redis is loading the dataset in memory\r\n", false},
                                                   {std::string(64, '\0'), false},
                                                   {"_\r\n", false},
                                                   {"#t\r\n", false},
                                                   {"%1\r\n+a\r\n+b\r\n", false}}) {
        OddServer server(answering(answer));
        auto options = short_options(server.port());
        options.timeout = hit ? 5000ms : 100ms;
        Redis cache(options);
        EXPECT_EQ(cache.find(a_request()).has_value(), hit) << answer;
    }
}

TEST(OddRedis, GetsNoSecondCommandOnAConnectionThatFailed)
{
    std::atomic<int> commands = 0;
    OddServer server([&](int connection) {
        char buffer[4096];
        while (recv(connection, buffer, sizeof(buffer), 0) > 0) {
            ++commands;
            (void)send(connection, ":1\r\n", 4, MSG_NOSIGNAL);
        }
    });
    Redis cache(short_options(server.port()));
    for (int i = 0; i < 3; ++i) {
        EXPECT_FALSE(cache.find(a_request()));
        std::this_thread::sleep_for(450ms);
    }
    EXPECT_GE(server.served(), 2);
    EXPECT_EQ(server.served(), commands);
}

TEST(OddRedis, RaisesNoSignalWhereItDies)
{
    // Writing to a connection that nobody reads any more raises SIGPIPE, unless the writer sees to it.
    ASSERT_NE(std::signal(SIGPIPE, SIG_DFL), SIG_ERR);
    auto request = a_request();
    auto result = its_result();
    request.details = result.details = R"({"text": ")" + std::string(900'000, 'x') + "\"}";
    RedisServer server;
    Redis cache({.unix_socket = server.socket(), .timeout = 10s, .warn = [](std::string_view) {}});
    EXPECT_FALSE(cache.find(request));
    server.freeze();
    // More than the socket takes: the writer waits, and then the reader is gone.
    std::thread writer([&] { cache.store(request, result); });
    std::this_thread::sleep_for(200ms);
    server.kill();
    writer.join();
}

TEST(NamedRedis, IsLookedUp)
{
    RedisServer server;
    auto options = patient(server.port());
    options.host = "localhost";
    Redis cache(options);
    cache.store(a_request(), its_result());
    EXPECT_EQ(cache.find(a_request()), its_replay());
}

TEST(NamedRedis, IsAMissWhereTheNameIsUnknown)
{
    std::string warning;
    auto options = short_options(6379);
    options.host = "no-such-host.invalid";
    options.warn = [&](std::string_view text) { warning = text; };
    Redis cache(options);
    const auto took = time_of([&] { EXPECT_FALSE(cache.find(a_request())); });
    EXPECT_LT(took, kTimeout + kSlack);
    EXPECT_NE(warning.find("the name was not"), std::string::npos) << warning;
}
