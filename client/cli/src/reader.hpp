#pragma once

#include "record.hpp"
#include "source.hpp"

#include <memory>
#include <set>

namespace idem::cli {

struct ReadOptions {
    /// Longer records are refused, and not kept in memory.
    std::size_t record_limit = std::size_t{64} << 20;
    /// The tenant of records that name none.
    std::optional<std::string> tenant_id = {};
};

/// Reads a file record by record.
class RecordReader {
public:
    virtual ~RecordReader() = default;
    /// The next record, or nothing at the end. Throws FileError.
    virtual std::optional<Record> next() = 0;
    /// Names of members or columns that were met and mean nothing here; the first few.
    [[nodiscard]] const std::set<std::string> &ignored() const noexcept { return ignored_; }

protected:
    RecordReader(Buffered &input, ReadOptions options) : input_(input), options_(std::move(options)) {}
    void note_ignored(std::string_view name);
    [[nodiscard]] Refusal too_long() const;

    Buffered &input_;
    ReadOptions options_;

private:
    std::set<std::string> ignored_;
};

/// One JSON object a line. The value of a member is a string, or a number, or null, which is the same as none; details
/// may be an object, whose text is sent as it stands in the file.
std::unique_ptr<RecordReader> json_lines_reader(Buffered &input, ReadOptions options);

/// CSV after RFC 4180, with a header. An empty field of a column that may be left out is the same as none.
std::unique_ptr<RecordReader> csv_reader(Buffered &input, ReadOptions options);

} // namespace idem::cli
