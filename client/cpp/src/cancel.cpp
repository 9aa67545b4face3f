#include "cancel.h"

#include "apart.h"
#include "handles.h"

#include <array>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>

namespace idem::client {
namespace {

// How many cancels may be under way: where the network swallows everything, each lives for minutes.
constexpr int kMostCancels = 16;
std::atomic<int> cancels = 0;

// One of the cancels that may be under way, unless there are too many.
class Place {
public:
    Place() : taken_(cancels.fetch_add(1) < kMostCancels)
    {
        if (!taken_) {
            cancels.fetch_sub(1);
        }
    }
    Place(Place &&other) noexcept : taken_(std::exchange(other.taken_, false)) {}
    Place(const Place &) = delete;
    Place &operator=(const Place &) = delete;
    Place &operator=(Place &&) = delete;
    ~Place()
    {
        if (taken_) {
            cancels.fetch_sub(1);
        }
    }

    [[nodiscard]] bool taken() const { return taken_; }

private:
    bool taken_;
};

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

// Starts a cancel; nullptr where there is no place, no thread or no memory for it.
std::shared_ptr<Progress> start_cancel(PGconn *connection)
{
    Place place;
    if (!place.taken()) {
        return nullptr;
    }
    try {
        auto progress = std::make_shared<Progress>();
        run_apart([progress, place = std::move(place), cancel = CancelPtr(PQgetCancel(connection))] {
            run_cancel(cancel, *progress);
        });
        return progress;
    } catch (const std::exception &) {
        return nullptr;
    }
}

} // namespace

bool cancel(PGconn *connection, Deadline deadline)
{
    const std::shared_ptr<Progress> progress = start_cancel(connection);
    if (!progress) {
        return false;
    }
    std::unique_lock lock(progress->mutex);
    progress->changed.wait_until(lock, deadline.at(), [&] { return progress->ended; });
    return progress->sent;
}

} // namespace idem::client
