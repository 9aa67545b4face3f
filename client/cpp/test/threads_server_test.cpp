#include <idem/client.hpp>

#include "error_of.h"
#include "server.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace idem::client::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kThreads = 8;

// Runs the body on all threads at once, and returns when all have ended.
void on_all_threads(const std::function<void(int)> &body)
{
    std::vector<std::thread> threads;
    threads.reserve(kThreads);
    for (int i = 0; i < kThreads; ++i) {
        threads.emplace_back([&body, i] { body(i); });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
}

// Ends one session of a name after the other, as long as it lives.
class Killer {
public:
    explicit Killer(const std::string &name)
        : thread_([this, name] {
              const Database database;
              while (!stop_) {
                  const std::string killed =
                      database.value("SELECT count(pg_terminate_backend(pid)) FROM (SELECT pid FROM pg_stat_activity "
                                     "WHERE application_name = '" +
                                     name + "' ORDER BY random() LIMIT 1) one");
                  killed_ += std::stoi(killed);
                  std::this_thread::sleep_for(milliseconds(100));
              }
          })
    {
    }
    Killer(const Killer &) = delete;
    Killer &operator=(const Killer &) = delete;
    ~Killer()
    {
        stop_ = true;
        thread_.join();
    }
    [[nodiscard]] int killed() const { return killed_; }

private:
    std::atomic<bool> stop_ = false;
    std::atomic<int> killed_ = 0;
    std::thread thread_;
};

// The ids that answers gave for each key.
class Ids {
public:
    void add(const std::string &key, const std::string &id)
    {
        const std::lock_guard lock(mutex_);
        ids_[key].insert(id);
    }
    [[nodiscard]] const std::map<std::string, std::set<std::string>> &all() const { return ids_; }

private:
    std::mutex mutex_;
    std::map<std::string, std::set<std::string>> ids_;
};

// All threads use all calls with the same keys, on fewer connections than there are threads.
TEST(Threads, ShareAClientWhoseConnectionsDie)
{
    constexpr int kRounds = 30;
    const std::string name = unique_name();
    std::atomic<int> attempts = 0;
    Client client({.conninfo = "application_name=" + name,
                   .pool_size = 3,
                   .retry = {.deadline = seconds(60), .attempts = 1000, .longest_pause = milliseconds(50)},
                   .on_attempt = [&](const Attempt &attempt) { attempts += attempt.number > 0 ? 1 : 0; }});
    const Request request = make_request();
    Ids ids;
    const auto keyed = [&](int round, const std::string &kind) {
        Request one = request;
        one.key = Key(kind + std::to_string(round));
        return one;
    };
    const auto play = [&](int round) {
        const Request single = keyed(round, "single");
        ids.add(single.key.text(), client.create_transaction(single).transaction_id);
        const Request acted = keyed(round, "acted");
        const Result result = client.once(acted, [](Transaction &tx, const Result &) { tx.run("SELECT 1"); });
        ids.add(acted.key.text(), result.transaction_id);
        const std::array<Request, 2> batch{keyed(round, "first"), keyed(round, "second")};
        const auto answers = client.create_transactions(batch);
        for (std::size_t i = 0; i < batch.size(); ++i) {
            ids.add(batch[i].key.text(), answers[i].transaction_id.value());
        }
        EXPECT_EQ(client.server_version(), version());
        try {
            client.transact([](Transaction &tx) { tx.run("SELECT 1"); });
        } catch (const InDoubtError &error) {
            EXPECT_EQ(error.sqlstate(), "ID006");
        }
        Transaction left = client.begin();
    };
    int killed = 0;
    {
        const Killer killer(name);
        on_all_threads([&](int) {
            for (int round = 0; round < kRounds; ++round) {
                EXPECT_EQ(sqlstate_of([&] { play(round); }), "none");
            }
        });
        killed = killer.killed();
    }
    EXPECT_GT(killed, 0);
    EXPECT_GT(attempts, kThreads * kRounds * 5);
    EXPECT_EQ(ids.all().size(), 4U * kRounds);
    for (const auto &[key, answered] : ids.all()) {
        EXPECT_EQ(answered.size(), 1U) << key;
    }
    EXPECT_EQ(rows_of(request.tenant_id), 4 * kRounds);
}

// Each call cancels its statement on a thread of the library's own, all at the same time.
TEST(Threads, CancelTogether)
{
    const Request request = make_request();
    Client holding({});
    Transaction holder = holding.begin();
    holder.create_transaction(request);
    Client client({.pool_size = kThreads, .retry = {.deadline = milliseconds(500)}});
    std::atomic<int> cancelled = 0;
    on_all_threads([&](int) {
        const auto error = error_of<RetriesExhausted>([&] { client.create_transaction(request); });
        cancelled += error && error->sqlstate() == "57014" ? 1 : 0;
    });
    EXPECT_EQ(cancelled, kThreads);
    holder.commit();
    on_all_threads([&](int) { EXPECT_EQ(client.create_transaction(request).outcome, Outcome::replayed); });
}

} // namespace
} // namespace idem::client::test
