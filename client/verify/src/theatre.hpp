#pragma once

#include "report.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace idem::verify {

/// What `idem verify` is asked for.
struct PlayRequest {
    int processes = 4;
    int lanes = 4;
    std::uint64_t requests = 0; ///< Calls after which the play ends; 0 for none.
    double seconds = 0;         ///< Time after which it ends; 0 for none.
    bool until_eof = false;     ///< It ends with the standard input.
    std::uint64_t keys = 0;
    std::uint64_t seed = 0;
    double fault_rate = 2;
    int deadline = 3000;
    std::string dsn = {};
    std::vector<std::string> play_dsns = {}; ///< For the processes, in place of a connection like dsn.
    std::string redis = {};
    bool keep = false;
    bool quiet = false;
};

/// Plays, with the histories in the folder, and checks. Throws std::exception where that cannot be done, and leaves the
/// business table behind only where it is to be kept.
[[nodiscard]] Outcomes play(const PlayRequest &request, const std::filesystem::path &folder);

/// Checks again what an earlier play has left in the folder and in the database.
[[nodiscard]] Outcomes check_again(const PlayRequest &request, const std::filesystem::path &folder);

} // namespace idem::verify
