#pragma once

#include "record.hpp"

#include <array>
#include <chrono>
#include <fstream>
#include <iosfwd>
#include <vector>

namespace idem::cli {

/// Counts what became of the records of a file, and remembers where the first refused ones of each kind are.
class LoadReport {
public:
    /// Where a name is given, writes each refused record as a line of JSON into that file. Throws FileError.
    explicit LoadReport(std::string file = {});

    /// A record that went well: created, replayed or valid.
    void count(Fate fate) noexcept { ++counts_[static_cast<std::size_t>(fate)]; }
    void refuse(std::uint64_t line, const Refusal &refusal);

    /// Makes sure that the file has all lines so far. Throws FileError, as where the disk is full.
    void flush();

    [[nodiscard]] std::uint64_t counted(Fate fate) const noexcept { return counts_[static_cast<std::size_t>(fate)]; }
    [[nodiscard]] std::uint64_t records() const noexcept;
    [[nodiscard]] bool any_refused() const noexcept;

    /// The counts for a reader, with the first line numbers of each kind.
    void print(std::ostream &out, std::chrono::duration<double> elapsed, bool database) const;
    /// The same as one JSON object.
    void print_json(std::ostream &out, std::chrono::duration<double> elapsed) const;

private:
    [[nodiscard]] const std::vector<std::uint64_t> &lines(Fate fate) const;

    std::array<std::uint64_t, kFates> counts_ = {};
    std::array<std::vector<std::uint64_t>, kFates> lines_;
    std::string name_;
    std::ofstream file_;
};

} // namespace idem::cli
