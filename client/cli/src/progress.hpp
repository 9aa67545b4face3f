#pragma once

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>

namespace idem::cli {

/// How far reading a file is.
struct ProgressState {
    std::uint64_t records = 0;
    std::uint64_t octets = 0;
    std::optional<std::uint64_t> all_octets = {}; ///< Nothing for a pipe, whose end is not known.
    std::chrono::duration<double> elapsed{0};
};

/// One line of at most 79 characters: a bar and the time left where the end is known, records and rate.
std::string progress_line(const ProgressState &state);

/// Shows progress: a line that is rewritten on a terminal, now and then a new line elsewhere.
class Progress {
public:
    enum class Kind { none, lines, bar };

    Progress(Kind kind, std::ostream &out) : kind_(kind), out_(out) {}

    /// Shows the state where it is time for that.
    void show(const ProgressState &state);
    /// Leaves an empty line where the bar was.
    void clear();

private:
    Kind kind_;
    std::ostream &out_;
    std::chrono::duration<double> next_{0};
    bool drawn_ = false;
};

} // namespace idem::cli
