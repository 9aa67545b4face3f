#include <idem/call.hpp>
#include <idem/client.hpp>

#include "error_of.h"
#include "server.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <string>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
extern "C" std::size_t __sanitizer_get_current_allocated_bytes(); // its header does not come with every compiler
#else
#include <malloc.h>
#endif

namespace idem::client::test {
namespace {

// The octets that this process has allocated and not freed.
std::size_t allocated()
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return __sanitizer_get_current_allocated_bytes();
#else
    return mallinfo2().uordblks;
#endif
}

std::ptrdiff_t descriptors()
{
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

// Makes the calls of these numbers: of three with one key, the first creates, the next replays, the last conflicts.
template <typename F>
void call(const Request &request, int from, int to, F create)
{
    for (int i = from; i < to; ++i) {
        Request one = request;
        one.key = Key("k" + std::to_string(i / 3));
        one.amount_minor += i % 3 / 2;
        if (i % 3 == 2) {
            const auto error = error_of<ConflictError>([&] { create(one); });
            ASSERT_TRUE(error && error->sqlstate() == "ID001");
        } else {
            ASSERT_EQ(create(one).outcome, i % 3 == 0 ? Outcome::created : Outcome::replayed);
        }
    }
}

// What a service would lose in a day: 10,000 calls leave no memory and no descriptor behind. The first ones fill what
// is kept, such as a connection and its buffers; after that, one octet lost in each call of one kind is too much.
template <typename F>
void expect_no_leak(F create)
{
    const Request request = make_request();
    ASSERT_NO_FATAL_FAILURE(call(request, 0, 1000, create));
    const std::size_t memory = allocated();
    const std::ptrdiff_t open = descriptors();
    ASSERT_NO_FATAL_FAILURE(call(request, 1000, 10000, create));
    EXPECT_LT(allocated(), memory + 2000);
    EXPECT_EQ(descriptors(), open);
    EXPECT_EQ(rows_of(request.tenant_id), 3334);
}

TEST(Leak, TenThousandCallsOfAClientLoseNothing)
{
    Client client({.pool_size = 2, .retry = {.deadline = std::chrono::seconds(60)}});
    expect_no_leak([&](const Request &request) { return client.create_transaction(request); });
}

TEST(Leak, TenThousandActionsOfAClientLoseNothing)
{
    Client client({.pool_size = 2, .retry = {.deadline = std::chrono::seconds(60)}});
    expect_no_leak([&](const Request &request) {
        return client.once(request, [](Transaction &tx, const Result &) { tx.run("SELECT 1"); });
    });
}

TEST(Leak, TenThousandCallsOnAConnectionLoseNothing)
{
    const Database database;
    expect_no_leak([&](const Request &request) { return create_transaction(database.native(), request); });
}

} // namespace
} // namespace idem::client::test
