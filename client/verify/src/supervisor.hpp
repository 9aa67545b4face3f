#pragma once

#include "board.hpp"
#include "plan.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <vector>

#include <sys/types.h>

namespace idem::verify {

/// The client processes of a play: this program again, once for each. They die with their supervisor.
class Supervisor {
public:
    /// The folder holds the plan. Starts nothing yet.
    Supervisor(std::filesystem::path folder, const Plan &plan);
    Supervisor(const Supervisor &) = delete;
    Supervisor &operator=(const Supervisor &) = delete;
    /// Kills what still runs.
    ~Supervisor();

    /// Starts all processes.
    void start();
    /// Starts those anew that were killed. Throws std::runtime_error where one ended by itself, which none does while
    /// the play goes on.
    void watch();
    /// Kills one as kill -9 does. Returns false where it is being started anew just now.
    bool kill_one(std::uint64_t which);
    /// Lets all processes end by themselves, and waits for them. Throws std::runtime_error where one fails, or where it
    /// takes too long.
    void settle(std::chrono::seconds patience);

    [[nodiscard]] Board &board() noexcept { return board_; }
    /// How many processes were killed, by whomever.
    [[nodiscard]] std::uint64_t killed() const noexcept { return killed_; }

private:
    void start(int process);
    bool reap();

    std::filesystem::path folder_;
    Board board_;
    std::vector<pid_t> processes_; // 0 for one that has ended.
    std::uint64_t killed_ = 0;
};

/// The hidden options of this program that make it one of the processes.
inline constexpr const char *kProcessOption = "--process";
inline constexpr const char *kHistoryOption = "--history";

} // namespace idem::verify
