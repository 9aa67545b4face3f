#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace idem::fuzz {

/// One record of a CSV file by RFC 4180, where a line ends with LF or CRLF.
struct SlowCsv {
    uint64_t line = 0;
    std::vector<std::string> fields = {};
    bool malformed = false;
    bool blank = false;
};

/// The records of a file. A malformed one ends at the next line end that is not in quotes.
std::vector<SlowCsv> slow_csv(const std::string &file);

/// Whether a file is UTF-16 by its mark; the file without the mark of UTF-8.
bool is_utf16(const std::string &file);
std::string without_mark(const std::string &file);

} // namespace idem::fuzz
