#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>

namespace idem::verify {

/// Where a play stands.
enum class Phase : int {
    play,   ///< New calls are made.
    settle, ///< What has no answer is asked for again, and no new call is made.
};

/// What the processes of a play tell each other: memory that they share through a file. It has no lock, since any of
/// them may be killed at any point.
class Board {
public:
    struct Content {
        std::atomic<Phase> phase;
        std::atomic<std::uint64_t> front;    ///< The highest number that a lane has reached.
        std::atomic<std::uint64_t> sent;     ///< Calls that were sent.
        std::atomic<std::uint64_t> answered; ///< Calls that have their answer.
        std::atomic<std::uint64_t> in_doubt; ///< Calls that ended without saying whether they were committed.
    };
    static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<Phase>::is_always_lock_free);

    /// Makes the board of a folder, with everything at 0. Throws std::system_error.
    static Board make(const std::filesystem::path &folder);
    /// Joins it.
    static Board join(const std::filesystem::path &folder);

    Board(const Board &) = delete;
    Board &operator=(const Board &) = delete;
    ~Board();

    Content *operator->() const noexcept { return content_; }

private:
    Board(const std::filesystem::path &folder, int flags);
    Content *content_;
};

} // namespace idem::verify
