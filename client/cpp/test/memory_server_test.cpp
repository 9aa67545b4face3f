#include <idem/client.hpp>

#include "cancel.h"
#include "error_of.h"
#include "server.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <new>
#include <string>

namespace idem::client::test {
namespace {

using std::chrono::seconds;

// How many allocations of this thread still succeed, and whether only one fails then; below 0, all succeed.
thread_local long allowance = -1;
thread_local bool fails_once = false;

void *allocate(std::size_t size)
{
    if (allowance == 0) {
        allowance = fails_once ? -1 : 0;
        throw std::bad_alloc();
    }
    if (allowance > 0) {
        --allowance;
    }
    void *memory = std::malloc(size > 0 ? size : 1); // NOLINT(cppcoreguidelines-no-malloc)
    if (memory == nullptr) {
        throw std::bad_alloc();
    }
    return memory;
}

// While it lives, memory ends after so many allocations of this thread: for one of them, or for all that follow.
class Scarcity {
public:
    Scarcity(long successes, bool once)
    {
        fails_once = once;
        allowance = successes;
    }
    Scarcity(const Scarcity &) = delete;
    Scarcity &operator=(const Scarcity &) = delete;
    ~Scarcity() { allowance = -1; }
};

bool signals_are_blocked()
{
    sigset_t now;
    pthread_sigmask(SIG_SETMASK, nullptr, &now);
    return sigismember(&now, SIGINT) == 1 || sigismember(&now, SIGTERM) == 1;
}

// More often than cancels may be under way.
TEST(Cancel, LeavesNothingBehindWhereItCannotStart)
{
    Database database;
    for (int round = 0; round < 20; ++round) {
        bool sent = false;
        for (long successes = 0; !sent; ++successes) {
            {
                const Scarcity scarcity(successes, true);
                sent = cancel(database.native(), Deadline::after(seconds(5)));
            }
            ASSERT_FALSE(signals_are_blocked());
            ASSERT_LT(successes, 100);
        }
    }
}

// What became of a call whose memory ended.
enum class End { success, doubt, failure };

template <typename F>
End end_of(F call, long successes, bool once)
{
    const Scarcity scarcity(successes, once);
    try {
        call();
        return End::success;
    } catch (const RetriesExhausted &error) {
        return error.in_doubt() ? End::doubt : End::failure;
    } catch (const InDoubtError &) {
        return End::doubt;
    } catch (const Error &) {
        return End::failure;
    } catch (const std::bad_alloc &) {
        return End::failure;
    }
}

class ScarceMemory : public testing::TestWithParam<bool> {
protected:
    // Makes the call with ever more memory, until it succeeds. Each time the pool's only connection is there for the
    // next one; and where one allocation has failed, what is stored and not told as a doubt is told as a success.
    template <typename F>
    void with_ever_more(F call)
    {
        End end = End::failure;
        for (long successes = 0; end != End::success; ++successes) {
            ASSERT_LT(successes, 1000);
            Client client({.pool_size = 1, .retry = {.deadline = seconds(5)}});
            const Request request = make_request();
            end = end_of([&] { call(client, request); }, successes, GetParam());
            const int rows = rows_of(request.tenant_id);
            if (end == End::success) {
                ASSERT_EQ(rows, 1) << successes;
            } else if (end == End::failure && GetParam()) {
                ASSERT_EQ(rows, 0) << successes;
            }
            ASSERT_FALSE(signals_are_blocked());
            ASSERT_EQ(client.server_version(), version()) << successes;
        }
    }
};

TEST_P(ScarceMemory, ACallTellsWhatItKnows)
{
    with_ever_more([](Client &client, const Request &request) { client.create_transaction(request); });
}

TEST_P(ScarceMemory, ABatchTellsWhatItKnows)
{
    with_ever_more([](Client &client, const Request &request) { client.create_transactions({&request, 1}); });
}

TEST_P(ScarceMemory, ATransactionTellsWhatItKnows)
{
    with_ever_more([](Client &client, const Request &request) {
        client.once(request, [](Transaction &tx, const Result &) { tx.run("SELECT 1"); });
    });
    with_ever_more([](Client &client, const Request &request) {
        Transaction tx = client.begin();
        tx.create_transaction(request);
        tx.commit();
    });
}

// The pool's other connections to the server are given up where one is lost.
TEST_P(ScarceMemory, ALostConnectionLosesNoPlaceInThePool)
{
    with_ever_more([](Client &client, const Request &request) {
        bool cut = false;
        client.once(request, [&](Transaction &tx, const Result &) {
            if (!cut) {
                cut = true;
                PQclear(PQexec(tx.native(), "SELECT pg_terminate_backend(pg_backend_pid())"));
            }
            tx.run("SELECT 1");
        });
    });
}

TEST_P(ScarceMemory, ARollbackOfALostConnectionThrowsNothing)
{
    Client client({.pool_size = 1});
    for (long successes = 0; successes < 20; ++successes) {
        Transaction tx = client.begin();
        Database().value("SELECT pg_terminate_backend(" + std::to_string(PQbackendPID(tx.native())) + ", 10000)");
        {
            const Scarcity scarcity(successes, GetParam());
            tx.rollback();
        }
        ASSERT_EQ(client.server_version(), version()) << successes;
    }
}

INSTANTIATE_TEST_SUITE_P(Memory, ScarceMemory, testing::Bool(),
                         [](const auto &info) { return info.param ? "ForOneAllocation" : "ForAllThatFollow"; });

} // namespace
} // namespace idem::client::test

// The whole program's, in place of the standard library's.
void *operator new(std::size_t size)
{
    return idem::client::test::allocate(size);
}

void operator delete(void *memory) noexcept
{
    std::free(memory); // NOLINT(cppcoreguidelines-no-malloc)
}

void operator delete(void *memory, std::size_t /*size*/) noexcept
{
    std::free(memory); // NOLINT(cppcoreguidelines-no-malloc)
}
