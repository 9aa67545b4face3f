#include "record.h"
#include "redis_server.h"
#include "samples.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

using namespace std::literals;
using idem::cache::record_name;
using idem::cache::Redis;
using idem::cache::RedisOptions;
using idem::cache::write_record;
using idem::cache::test::a_request;
using idem::cache::test::free_port;
using idem::cache::test::its_replay;
using idem::cache::test::its_result;
using idem::cache::test::patient;
using idem::cache::test::RedisServer;
using idem::client::Error;
using idem::client::Outcome;

namespace {

std::string name()
{
    return record_name(a_request(), "");
}

// Waits until a cache that leaves Redis alone after a failure tries again.
bool found_within(Redis &cache, std::chrono::seconds limit)
{
    const auto deadline = std::chrono::steady_clock::now() + limit;
    while (!cache.find(a_request())) {
        if (std::chrono::steady_clock::now() > deadline) {
            return false;
        }
        std::this_thread::sleep_for(10ms);
    }
    return true;
}

std::string state_of(const RedisOptions &options)
{
    try {
        const Redis cache(options);
        return "";
    } catch (const Error &error) {
        return error.sqlstate();
    }
}

} // namespace

TEST(Redis, FindsWhatWasStored)
{
    RedisServer server;
    Redis cache(patient(server.port()));
    EXPECT_FALSE(cache.find(a_request()));
    cache.store(a_request(), its_result());
    EXPECT_EQ(cache.find(a_request()), its_replay());
    EXPECT_FALSE(cache.find(a_request("k-2")));
    EXPECT_EQ(server.run({"DBSIZE"}), "1");
}

TEST(Redis, IsSharedByProcessesThroughTheSocketToo)
{
    RedisServer server;
    Redis writer(patient(server.port()));
    writer.store(a_request(), its_result());
    Redis reader({.port = 1, .unix_socket = server.socket(), .timeout = 5s});
    EXPECT_EQ(reader.find(a_request()), its_replay());
}

TEST(Redis, AnswersTheSameOctetsOnly)
{
    RedisServer server;
    Redis cache(patient(server.port()));
    cache.store(a_request(), its_result());
    auto other = a_request();
    other.amount_minor = 1001;
    EXPECT_FALSE(cache.find(other));
    other = a_request();
    other.details = R"({"to":"DE89"})";
    EXPECT_FALSE(cache.find(other));
    EXPECT_EQ(cache.find(a_request()), its_replay());
}

TEST(Redis, KeepsDatabasesApart)
{
    RedisServer server;
    auto options = patient(server.port());
    options.ledger = "test";
    Redis test(options);
    options.ledger = "production";
    Redis production(options);
    test.store(a_request(), its_result());
    EXPECT_FALSE(production.find(a_request()));
    EXPECT_EQ(test.find(a_request()), its_replay());
}

TEST(Redis, KeepsWhatWasStoredFirst)
{
    RedisServer server;
    Redis cache(patient(server.port()));
    cache.store(a_request(), its_result());
    auto later = its_result();
    later.transaction_id.back() = '0';
    cache.store(a_request(), later);
    EXPECT_EQ(cache.find(a_request()), its_replay());
}

TEST(Redis, StoresNothingButResultsThatAreRows)
{
    RedisServer server;
    Redis cache(patient(server.port()));
    for (const auto outcome : {Outcome::conflict, Outcome::order_taken, Outcome::invalid}) {
        auto result = its_result();
        result.outcome = outcome;
        cache.store(a_request(), result);
    }
    EXPECT_EQ(server.run({"DBSIZE"}), "0");
    cache.store(a_request(), its_replay());
    EXPECT_EQ(server.run({"DBSIZE"}), "1");
}

TEST(Redis, LetsResultsExpire)
{
    RedisServer server;
    auto options = patient(server.port());
    options.expiry = 1h;
    Redis cache(options);
    cache.store(a_request(), its_result());
    const auto left = std::stoi(*server.run({"TTL", name()}));
    EXPECT_GT(left, 3500);
    EXPECT_LE(left, 3600);
    server.run({"PEXPIRE", name(), "1"});
    std::this_thread::sleep_for(20ms);
    EXPECT_FALSE(cache.find(a_request()));
}

TEST(Redis, TakesADamagedValueForAMiss)
{
    RedisServer server;
    Redis cache(patient(server.port()));
    const auto record = *write_record(a_request(), "", its_result());
    for (const auto &value : {""s, "1"s, "idem-result 1\n"s, record.substr(0, record.size() / 2), record + "x",
                              std::string(1000, '\0'), *write_record(a_request("k-2"), "", its_result())}) {
        server.run({"SET", name(), value});
        EXPECT_FALSE(cache.find(a_request()));
    }
    server.run({"SET", name(), record});
    EXPECT_EQ(cache.find(a_request()), its_replay());
}

TEST(Redis, TakesAKeyOfAnotherTypeForAMiss)
{
    RedisServer server;
    std::atomic<int> warnings = 0;
    auto options = patient(server.port());
    options.warn = [&](std::string_view) { ++warnings; };
    Redis cache(options);
    server.run({"LPUSH", name(), "x"});
    cache.store(a_request("k-2"), its_result());
    EXPECT_FALSE(cache.find(a_request()));
    cache.store(a_request(), its_result());
    EXPECT_FALSE(cache.find(a_request()));
    // That is a matter of this key; the others are served at once.
    EXPECT_TRUE(cache.find(a_request("k-2")));
    EXPECT_EQ(warnings, 0);
}

TEST(Redis, DoesNotReadAValueOfAnyLength)
{
    RedisServer server;
    Redis cache(patient(server.port()));
    std::string long_text;
    long_text.resize(50'000'000, 'x');
    server.run({"SET", name(), long_text});
    EXPECT_FALSE(cache.find(a_request()));
}

TEST(Redis, CarriesLongDetails)
{
    RedisServer server;
    Redis cache(patient(server.port()));
    auto request = a_request();
    auto result = its_result();
    request.details = result.details = R"({"text": ")" + std::string(900'000, 'x') + "\"}";
    cache.store(request, result);
    result.outcome = Outcome::replayed;
    EXPECT_EQ(cache.find(request), result);
    // What would not be read is not kept either.
    request = a_request("k-2");
    request.details = result.details = R"({"text": ")" + std::string(1'100'000, 'x') + "\"}";
    cache.store(request, result);
    EXPECT_EQ(server.run({"DBSIZE"}), "1");
}

TEST(Redis, MissesAfterAFlush)
{
    RedisServer server;
    Redis cache(patient(server.port()));
    cache.store(a_request(), its_result());
    server.run({"FLUSHALL"});
    EXPECT_FALSE(cache.find(a_request()));
    cache.store(a_request(), its_result());
    EXPECT_EQ(cache.find(a_request()), its_replay());
}

TEST(Redis, GoesOnAfterARestart)
{
    RedisServer server;
    auto options = patient(server.port());
    options.warn = [](std::string_view) {};
    Redis cache(options);
    cache.store(a_request(), its_result());
    server.kill();
    EXPECT_FALSE(cache.find(a_request()));
    cache.store(a_request(), its_result());
    server.start();
    server.run({"SET", name(), *write_record(a_request(), "", its_result())});
    EXPECT_TRUE(found_within(cache, 10s));
}

TEST(Redis, UsesNoConnectionThatTheServerHasClosed)
{
    RedisServer server;
    std::atomic<int> warnings = 0;
    auto options = patient(server.port());
    options.warn = [&](std::string_view) { ++warnings; };
    Redis cache(options);
    cache.store(a_request(), its_result());
    server.run({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
    EXPECT_EQ(cache.find(a_request()), its_replay());
    EXPECT_EQ(warnings, 0);
}

TEST(Redis, LogsIn)
{
    RedisServer server({"--user", "default", "on", "nopass", "+@all", "~*", "--user", "app", "on", ">secret", "+get",
                        "+set", "~idem:*"});
    auto options = patient(server.port());
    options.username = "app";
    options.password = "secret";
    Redis cache(options);
    cache.store(a_request(), its_result());
    EXPECT_EQ(cache.find(a_request()), its_replay());
}

TEST(Redis, LogsInWithAPasswordAlone)
{
    RedisServer server;
    server.run({"CONFIG", "SET", "requirepass", "secret"});
    auto options = patient(server.port());
    options.password = "secret";
    Redis cache(options);
    cache.store(a_request(), its_result());
    EXPECT_EQ(cache.find(a_request()), its_replay());
}

TEST(Redis, DoesWithoutAServerThatRefusesTheLogin)
{
    RedisServer server;
    server.run({"CONFIG", "SET", "requirepass", "right"});
    for (const auto *password : {"", "wrong-secret"}) {
        std::string warning;
        auto options = patient(server.port());
        options.password = password;
        options.warn = [&](std::string_view text) { warning = text; };
        Redis cache(options);
        cache.store(a_request(), its_result());
        EXPECT_FALSE(cache.find(a_request()));
        EXPECT_NE(warning, "");
        EXPECT_EQ(warning.find("secret"), std::string::npos) << warning;
        EXPECT_EQ(warning.find("acme"), std::string::npos) << warning;
    }
}

TEST(Redis, ReadsFromAServerThatTakesNoWrites)
{
    RedisServer server;
    std::string warning;
    auto options = patient(server.port());
    options.warn = [&](std::string_view text) { warning = text; };
    Redis cache(options);
    cache.store(a_request(), its_result());
    server.run({"CONFIG", "SET", "maxmemory", "1"});
    cache.store(a_request("k-2"), its_result());
    EXPECT_NE(warning.find("OOM"), std::string::npos) << warning;
    EXPECT_EQ(warning.find("k-2"), std::string::npos) << warning;
    EXPECT_EQ(cache.find(a_request()), its_replay());
}

TEST(Redis, ServesManyThreads)
{
    RedisServer server;
    auto options = patient(server.port());
    options.connections = 3;
    Redis cache(options);
    std::atomic<int> found = 0;
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 16; ++thread) {
        threads.emplace_back([&, thread] {
            for (int i = 0; i < 50; ++i) {
                const auto request = a_request("k-" + std::to_string(thread) + "-" + std::to_string(i));
                auto result = its_result();
                result.transaction_id.replace(0, 8, std::to_string(10'000'000 + thread * 1000 + i));
                EXPECT_FALSE(cache.find(request));
                cache.store(request, result);
                const auto again = cache.find(request);
                found += again && again->transaction_id == result.transaction_id ? 1 : 0;
            }
        });
    }
    for (auto &thread : threads) {
        thread.join();
    }
    EXPECT_EQ(found, 16 * 50);
    EXPECT_EQ(server.clients(), 3);
}

TEST(Redis, RefusesOptionsThatMakeNoSense)
{
    EXPECT_EQ(state_of({}), "");
    EXPECT_EQ(state_of({.timeout = 0ms}), "22023");
    EXPECT_EQ(state_of({.timeout = 61s}), "22023");
    EXPECT_EQ(state_of({.expiry = 0s}), "22023");
    EXPECT_EQ(state_of({.connections = 0}), "22023");
    EXPECT_EQ(state_of({.connections = 10'001}), "22023");
    EXPECT_EQ(state_of({.unix_socket = "/" + std::string(200, 'x')}), "22023");
}

TEST(Redis, IsMadeWithoutAServer)
{
    std::atomic<int> warnings = 0;
    Redis cache({.port = free_port(), .warn = [&](std::string_view) { ++warnings; }});
    EXPECT_EQ(warnings, 0);
    for (int i = 0; i < 100; ++i) {
        EXPECT_FALSE(cache.find(a_request()));
        cache.store(a_request(), its_result());
    }
    EXPECT_EQ(warnings, 1);
}
