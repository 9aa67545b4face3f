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
thread_local bool has_failed = false;

void *allocate(std::size_t size)
{
    if (allowance == 0) {
        allowance = fails_once ? -1 : 0;
        has_failed = true;
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
        has_failed = false;
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
TEST(ScarceMemory, ACancelThatCannotStartLeavesNothingBehind)
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
