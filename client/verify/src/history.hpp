#pragma once

#include "records.hpp"

#include <filesystem>
#include <istream>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>

namespace idem::verify {

/// A history that cannot be read: not one that shows a violation.
class HistoryError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Appends to the history of one process. Each line is one write(2) and so outlives the process that is killed right
/// afterwards. Thread-safe. Throws std::system_error where the line could not be written.
class HistoryWriter {
public:
    /// Opens or creates the file, and says that the process has started.
    HistoryWriter(const std::filesystem::path &file, std::string_view process, int run);
    HistoryWriter(const HistoryWriter &) = delete;
    HistoryWriter &operator=(const HistoryWriter &) = delete;
    ~HistoryWriter();

    /// To be called before anything is sent.
    void send(int lane, std::uint64_t number, Kind kind, const std::vector<Posed> &requests);
    /// What a call answered.
    void acknowledge(int lane, std::uint64_t number, int attempts, const std::vector<Answer> &answers);
    /// The error that a call ended with.
    void fail(int lane, std::uint64_t number, int attempts, std::string_view sqlstate, bool in_doubt);
    /// An attempt that failed, within a call that goes on or ends.
    void failed_attempt(int lane, std::uint64_t number, int attempt, std::string_view sqlstate, bool commit_known,
                        std::string_view instance);

private:
    void append(const std::string &line);

    std::mutex mutex_;
    int file_;
};

/// Reads the history of one process. Throws HistoryError for a line that no process can have written; the last line of
/// a process that was killed may be torn.
void read_history(std::istream &input, const std::string &name, History &history);

/// Reads all histories of a folder (*.jsonl), in the order of their names. Throws HistoryError.
[[nodiscard]] History read_histories(const std::filesystem::path &folder);

/// Microseconds of the clock in histories, which all processes of a machine share.
[[nodiscard]] std::int64_t history_clock() noexcept;

} // namespace idem::verify
