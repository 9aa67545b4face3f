#include "cancel.h"

#include "handles.h"

#include <array>
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace idem::client {
namespace {

// How many cancels may be under way: where the network swallows everything, each lives for minutes.
constexpr int kMostCancels = 16;
std::atomic<int> cancels = 0;

// What a cancel shares with the one who waits for it.
struct Progress {
    std::mutex mutex;
    std::condition_variable changed;
    bool ended = false;
    bool sent = false;
};

// PQcancel connects, and takes as long as that takes. It knows nothing of the connection, which may be gone by then.
void run_cancel(const CancelPtr &cancel, Progress &progress)
{
    std::array<char, 256> message{};
    const bool sent = PQcancel(cancel.get(), message.data(), static_cast<int>(message.size())) == 1;
    const std::lock_guard lock(progress.mutex);
    progress.ended = true;
    progress.sent = sent;
    progress.changed.notify_one();
}

} // namespace

bool cancel(PGconn *connection, Deadline deadline)
{
    if (cancels.fetch_add(1) >= kMostCancels) {
        cancels.fetch_sub(1);
        return false;
    }
    const auto progress = std::make_shared<Progress>();
    // The thread inherits the mask: signals of the application are none of its business, and PQcancel must not raise
    // SIGPIPE.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = true;
    try {
        std::thread([progress, cancel = CancelPtr(PQgetCancel(connection))] {
            run_cancel(cancel, *progress);
            cancels.fetch_sub(1);
        }).detach();
    } catch (const std::system_error &) {
        started = false;
        cancels.fetch_sub(1);
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (!started) {
        return false;
    }
    std::unique_lock lock(progress->mutex);
    progress->changed.wait_until(lock, deadline.at(), [&] { return progress->ended; });
    return progress->sent;
}

} // namespace idem::client
