// The files that `idem load` reads. The first octet chooses JSON lines or CSV, the others are the file.

#include "require.h"
#include "slow_csv.h"
#include "slow_record.h"

#include "csv_records.hpp"
#include "reader.hpp"
#include "text_source.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace idem::fuzz {
namespace {

constexpr size_t kRoomy = size_t{1} << 20;

// A file as read: its records, or that it is refused as a whole.
struct Read {
    bool refused = false;
    std::vector<cli::Record> records = {};
};

Read read(const std::string &file, bool csv, size_t piece, size_t limit)
{
    cli::test::TextSource source(file, piece);
    cli::Buffered input(source);
    Read read;
    try {
        const cli::ReadOptions options{.record_limit = limit, .tenant_id = {}};
        const auto reader = csv ? cli::csv_reader(input, options) : cli::json_lines_reader(input, options);
        while (std::optional<cli::Record> record = reader->next()) {
            read.records.push_back(*std::move(record));
        }
    } catch (const cli::FileError &) {
        read.refused = true;
    }
    return read;
}

bool are_equal(const cli::Record &left, const cli::Record &right)
{
    return left.line == right.line && left.octets == right.octets && summary(left.content) == summary(right.content);
}

// What is read does not depend on the pieces in which a file comes, and what becomes a request can be sent.
Read check_pieces(const std::string &file, bool csv, size_t limit)
{
    Read whole = read(file, csv, kRoomy, limit);
    for (const size_t piece : {size_t{1}, size_t{3}}) {
        const Read parts = read(file, csv, piece, limit);
        require(whole.refused == parts.refused && std::equal(whole.records.begin(), whole.records.end(),
                                                             parts.records.begin(), parts.records.end(), are_equal),
                "a file is read the same in all pieces");
    }
    uint64_t line = 0;
    for (const cli::Record &record : whole.records) {
        require(record.line > line && record.octets <= limit, "records have lines in order, and not too many octets");
        line = record.line;
        if (const auto *request = std::get_if<client::Request>(&record.content)) {
            client::check(*request);
        }
    }
    return whole;
}

// Every line is taken for what it is by RFC 8259 and the rules for requests.
void check_json_lines(const std::string &file)
{
    const Read whole = check_pieces(file, false, kRoomy);
    if (whole.refused) {
        require(is_utf16(file), "only UTF-16 is refused as a whole");
        return;
    }
    std::string text = without_mark(file);
    uint64_t number = 0;
    auto record = whole.records.begin();
    while (!text.empty()) {
        const size_t end = std::min(text.find('\n'), text.size());
        const std::string line = text.substr(0, end);
        text.erase(0, end + 1);
        ++number;
        if (line.find_first_not_of(" \t\r") == std::string::npos) {
            continue;
        }
        require(record != whole.records.end() && record->line == number, "each line that is not blank is a record");
        const std::optional<std::string> expected = slow_record(line);
        require(!expected || summary(record->content) == *expected, "a line is taken for what it is");
        ++record;
    }
    require(record == whole.records.end(), "there are no other records");
}

// Every record has the fields that RFC 4180 says, or is malformed.
void check_csv(const std::string &file)
{
    (void)check_pieces(file, true, kRoomy);
    if (is_utf16(file)) {
        return;
    }
    cli::test::TextSource source(file, 5);
    cli::Buffered input(source);
    cli::CsvRecords records(input, kRoomy);
    for (const SlowCsv &expected : slow_csv(without_mark(file))) {
        const std::optional<cli::CsvRecord> record = records.next();
        require(record && record->line == expected.line, "each record of a CSV file begins at its line");
        require((record->problem != nullptr) == expected.malformed, "a record is malformed by RFC 4180");
        require(expected.malformed || record->fields == expected.fields, "a record has the fields that RFC 4180 says");
        require(expected.malformed || record->blank() == expected.blank, "a line with nothing in it is blank");
    }
    require(!records.next(), "there are no other records");
}

} // namespace
} // namespace idem::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    using namespace idem::fuzz;
    if (size == 0) {
        return 0;
    }
    const std::string file(reinterpret_cast<const char *>(data) + 1, size - 1);
    const bool csv = data[0] % 2 == 1;
    csv ? check_csv(file) : check_json_lines(file);
    (void)check_pieces(file, csv, data[0] / 2); // a limit that records exceed
    return 0;
}
