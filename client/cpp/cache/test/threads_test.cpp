#include "redis_server.h"
#include "samples.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

using namespace std::literals;
using idem::cache::Redis;
using idem::cache::test::a_request;
using idem::cache::test::its_result;
using idem::cache::test::patient;
using idem::cache::test::RedisServer;

// The pool, the breaker and the warning, all of them at work at the same time.
TEST(CacheThreads, UseARedisThatDiesAndComesBack)
{
    RedisServer server;
    auto options = patient(server.port());
    options.connections = 3;
    std::atomic<int> warnings = 0;
    options.warn = [&](std::string_view) { ++warnings; };
    Redis cache(options);
    std::atomic<bool> stop = false;
    std::atomic<int> found = 0;
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 8; ++thread) {
        threads.emplace_back([&] {
            for (int i = 0; !stop; ++i) {
                const auto number = std::to_string(10'000'000 + i % 100);
                const auto request = a_request("k-" + number);
                auto result = its_result();
                result.transaction_id.replace(0, 8, number);
                cache.store(request, result);
                if (const auto again = cache.find(request)) {
                    EXPECT_EQ(again->transaction_id, result.transaction_id);
                    ++found;
                }
            }
        });
    }
    // Each time, it is used again before it dies the next time.
    const auto used_again = [&] {
        const int before = found;
        const auto deadline = std::chrono::steady_clock::now() + 30s;
        while (found < before + 100 && std::chrono::steady_clock::now() < deadline) {
            std::this_thread::sleep_for(1ms);
        }
        return found >= before + 100;
    };
    EXPECT_TRUE(used_again());
    for (int round = 0; round < 3; ++round) {
        server.kill();
        std::this_thread::sleep_for(50ms);
        server.start();
        EXPECT_TRUE(used_again());
    }
    stop = true;
    for (auto &thread : threads) {
        thread.join();
    }
    EXPECT_GE(warnings, 1);
}
