#include "csv_records.hpp"

namespace idem::cli {

std::optional<CsvRecord> CsvRecords::next()
{
    CsvRecord record;
    record.line = line_;
    state_ = State::field_start;
    field_.clear();
    carriage_return_ = false;
    bool any = false;
    for (std::string_view part = input_.peek(); !part.empty(); part = input_.peek()) {
        any = true;
        std::size_t read = 0;
        bool ended = false;
        while (read < part.size() && !ended) {
            ended = take(part[read++], record);
        }
        input_.consume(read);
        if (ended) {
            return record;
        }
    }
    if (!any) {
        return std::nullopt;
    }
    if (state_ == State::quoted) {
        record.problem = "a quoted field is not closed: all from here to the end of the file is in it";
    }
    keep_field(record);
    return record;
}

// Takes the next octet; true where the record is complete with it.
bool CsvRecords::take(char c, CsvRecord &record)
{
    line_ += c == '\n' ? 1 : 0;
    if (state_ == State::quoted) {
        if (c == '"') {
            state_ = State::quote_in_quoted;
        } else {
            add(c, record);
        }
        return false;
    }
    if (c == '\n') {
        keep_field(record);
        return true;
    }
    if (carriage_return_) {
        // It did not end the line, and so belongs to the field.
        carriage_return_ = false;
        if (state_ == State::quote_in_quoted) {
            after_quote('\r', record);
        } else {
            start_or_plain('\r', record);
        }
    }
    if (c == '\r') {
        carriage_return_ = true;
    } else if (state_ == State::quote_in_quoted) {
        after_quote(c, record);
    } else {
        start_or_plain(c, record);
    }
    return false;
}

void CsvRecords::start_or_plain(char c, CsvRecord &record)
{
    if (c == ',') {
        end_field(record);
    } else if (c == '"' && state_ == State::field_start) {
        count(record);
        state_ = State::quoted;
    } else {
        if (c == '"') {
            record.problem = "a quote is in a field that does not begin with one";
        }
        state_ = State::plain;
        add(c, record);
    }
}

// What follows a quote inside of quotes: another one, which makes it a character, or the end of the field.
void CsvRecords::after_quote(char c, CsvRecord &record)
{
    if (c == '"') {
        state_ = State::quoted;
        add(c, record);
    } else if (c == ',') {
        end_field(record);
    } else {
        record.problem = "something follows the closing quote of a field";
        state_ = State::plain;
    }
}

void CsvRecords::add(char c, CsvRecord &record)
{
    count(record);
    if (!record.too_long) {
        field_ += c;
    }
}

// Counts an octet of the record; where it is one too many, gives back what was read.
void CsvRecords::count(CsvRecord &record)
{
    ++record.octets;
    if (record.octets > limit_ && !record.too_long) {
        record.too_long = true;
        record.fields = {};
        field_ = {};
    }
}

void CsvRecords::end_field(CsvRecord &record)
{
    count(record);
    keep_field(record);
    state_ = State::field_start;
}

// Puts the last field into the record. Empty fields cost more memory than they have octets, so that their number has a
// limit too.
void CsvRecords::keep_field(CsvRecord &record)
{
    constexpr std::size_t kMostFields = 1600;
    if (record.fields.size() == kMostFields) {
        record.problem = "it has too many fields";
    } else if (!record.too_long) {
        record.fields.push_back(std::move(field_));
    }
    field_.clear();
}

} // namespace idem::cli
