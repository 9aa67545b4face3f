#pragma once

#include "source.hpp"

#include <vector>

namespace idem::cli {

/// One record of a CSV file.
struct CsvRecord {
    std::uint64_t line = 0; ///< Where it starts.
    std::vector<std::string> fields;
    std::size_t octets = 0;
    const char *problem = nullptr; ///< Why it is malformed; then the fields mean nothing.
    bool too_long = false;

    /// A line with nothing in it.
    [[nodiscard]] bool blank() const { return octets == 0 && problem == nullptr; }
};

/// Splits CSV after RFC 4180 into records: commas, quotes doubled inside of quotes, line ends inside of them kept. A
/// line ends with LF or CRLF. A malformed record ends where a well-formed one would, and the next one is read.
class CsvRecords {
public:
    CsvRecords(Buffered &input, std::size_t limit) : input_(input), limit_(limit) {}

    /// The next record, or nothing at the end. Throws FileError.
    std::optional<CsvRecord> next();

private:
    enum class State { field_start, plain, quoted, quote_in_quoted };

    bool take(char c, CsvRecord &record);
    void start_or_plain(char c, CsvRecord &record);
    void after_quote(char c, CsvRecord &record);
    void add(char c, CsvRecord &record);
    void count(CsvRecord &record);
    void end_field(CsvRecord &record);
    void keep_field(CsvRecord &record);

    Buffered &input_;
    std::size_t limit_;
    std::uint64_t line_ = 1;
    State state_ = State::field_start;
    std::string field_;
    bool carriage_return_ = false; // The last octet was a CR outside of quotes.
};

} // namespace idem::cli
