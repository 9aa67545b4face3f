#include "slow_csv.h"

#include <algorithm>

namespace idem::fuzz {
namespace {

constexpr size_t kMostFields = 1600;

// Whether a record ends at `at`: at LF, at CRLF, at the end of the file, also behind a single CR.
bool ends(const std::string &file, size_t at)
{
    const size_t behind = at < file.size() && file[at] == '\r' ? at + 1 : at;
    return behind >= file.size() || file[behind] == '\n';
}

// Reads a quoted field, whose quote is at `at`, and moves behind its closing quote; false where it has none.
bool quoted(const std::string &file, size_t &at, std::string &field)
{
    for (++at; at < file.size(); ++at) {
        if (file[at] != '"') {
            field += file[at];
        } else if (at + 1 < file.size() && file[at + 1] == '"') {
            field += '"';
            ++at;
        } else {
            ++at;
            return true;
        }
    }
    return false;
}

// Reads a field from `at` on, and moves behind it.
void read_field(const std::string &file, size_t &at, SlowCsv &record)
{
    std::string field;
    bool is_quoted = false;
    if (at < file.size() && file[at] == '"') {
        is_quoted = true;
        record.malformed = !quoted(file, at, field) || record.malformed;
    }
    while (!ends(file, at) && file[at] != ',') {
        record.malformed = record.malformed || is_quoted || file[at] == '"';
        field += file[at++];
    }
    record.fields.push_back(field);
}

} // namespace

std::vector<SlowCsv> slow_csv(const std::string &file)
{
    std::vector<SlowCsv> records;
    for (size_t at = 0; at < file.size();) {
        SlowCsv record;
        const size_t start = at;
        record.line = 1 + static_cast<uint64_t>(std::count(file.begin(), file.begin() + static_cast<long>(at), '\n'));
        read_field(file, at, record);
        while (!ends(file, at)) {
            ++at; // the comma
            read_field(file, at, record);
        }
        record.malformed = record.malformed || record.fields.size() > kMostFields;
        record.blank = at == start;
        at += at < file.size() && file[at] == '\r' ? 1 : 0;
        at += at < file.size() ? 1 : 0;
        records.push_back(record);
    }
    return records;
}

bool is_utf16(const std::string &file)
{
    return file.starts_with("\xFF\xFE") || file.starts_with("\xFE\xFF");
}

std::string without_mark(const std::string &file)
{
    return file.starts_with("\xEF\xBB\xBF") ? file.substr(3) : file;
}

} // namespace idem::fuzz
