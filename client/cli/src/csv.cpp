#include "csv_records.hpp"
#include "reader.hpp"

#include <utf8.h> // idem::core::is_utf8

#include <algorithm>
#include <utility>

namespace idem::cli {
namespace {

class CsvReader final : public RecordReader {
public:
    CsvReader(Buffered &input, ReadOptions options);
    std::optional<Record> next() override;

private:
    void read_header();
    void check_header() const;
    RequestOrRefusal parse(CsvRecord &record);

    CsvRecords records_;
    std::vector<std::string> header_;
};

CsvReader::CsvReader(Buffered &input, ReadOptions options)
    : RecordReader(input, std::move(options)), records_(input, options_.record_limit)
{
    read_header();
}

void CsvReader::read_header()
{
    std::optional<CsvRecord> record = records_.next();
    if (!record || record->blank()) {
        throw FileError("the file has no header");
    }
    if (record->problem != nullptr || record->too_long) {
        throw FileError("the header is malformed");
    }
    header_ = std::move(record->fields);
    check_header();
}

void CsvReader::check_header() const
{
    for (auto column = header_.begin(); column != header_.end(); ++column) {
        Fields fields;
        if (field_named(fields, *column) != nullptr && std::find(header_.begin(), column, *column) != column) {
            throw FileError("the header has " + *column + " twice");
        }
    }
    for (const char *required : {"tenant_id", "idempotency_key", "amount_minor", "currency"}) {
        const bool there = std::find(header_.begin(), header_.end(), required) != header_.end();
        if (!there && (required != std::string_view("tenant_id") || !options_.tenant_id)) {
            throw FileError(std::string("the header has no ") + required);
        }
    }
}

std::optional<Record> CsvReader::next()
{
    while (std::optional<CsvRecord> record = records_.next()) {
        if (!record->blank()) {
            RequestOrRefusal content = parse(*record); // which may change the octets
            return Record{record->line, record->octets, std::move(content)};
        }
    }
    return std::nullopt;
}

RequestOrRefusal CsvReader::parse(CsvRecord &record)
{
    if (record.too_long) {
        record.octets = 0;
        return too_long();
    }
    if (record.problem != nullptr) {
        return Refusal{Fate::unreadable, {}, record.problem};
    }
    if (record.fields.size() != header_.size()) {
        return Refusal{Fate::unreadable,
                       {},
                       "it has " + std::to_string(record.fields.size()) + " fields, and the header has " +
                           std::to_string(header_.size())};
    }
    Fields fields;
    for (std::size_t i = 0; i < header_.size(); ++i) {
        if (!core::is_utf8(record.fields[i])) {
            return Refusal{Fate::unreadable, "22021", "it is not valid UTF-8"};
        }
        std::optional<std::string> *field = field_named(fields, header_[i]);
        if (field == nullptr) {
            note_ignored(header_[i]);
        } else {
            *field = std::move(record.fields[i]);
        }
    }
    for (std::optional<std::string> *field : {&fields.details, &fields.operation, &fields.order_ref}) {
        if (*field && (*field)->empty()) {
            field->reset();
        }
    }
    if (!fields.tenant_id || (fields.tenant_id->empty() && options_.tenant_id)) {
        fields.tenant_id = options_.tenant_id;
    }
    return make_request(std::move(fields));
}

} // namespace

std::unique_ptr<RecordReader> csv_reader(Buffered &input, ReadOptions options)
{
    return std::make_unique<CsvReader>(input, std::move(options));
}

} // namespace idem::cli
