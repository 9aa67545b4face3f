#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace idem::verify {

/// What all processes of a play have to know. It stands in the folder of the histories.
struct Plan {
    std::uint64_t seed = 1;
    int processes = 4;
    int lanes = 4;                      ///< Threads of each process.
    std::uint64_t keys = 0;             ///< 0: as many as are needed.
    std::string tenant;                 ///< What the tenants of this play begin with.
    std::string schema;                 ///< Where the business table is.
    std::string idem_schema;            ///< Where the extension is.
    std::vector<std::string> conninfos; ///< Process n uses the one at n modulo their number.
    int deadline = 3000;                ///< Milliseconds that a call may take, attempts together.
    std::string redis = {};             ///< host:port; processes of odd numbers use it.

    [[nodiscard]] const std::string &conninfo_of(int process) const;
    /// The file with the history of a process.
    [[nodiscard]] static std::filesystem::path history_of(const std::filesystem::path &folder, int process);
};

/// Writes the plan into a folder. Throws std::runtime_error.
void write_plan(const std::filesystem::path &folder, const Plan &plan);

/// Reads it again. Throws std::runtime_error.
[[nodiscard]] Plan read_plan(const std::filesystem::path &folder);

} // namespace idem::verify
