#include "json_scan.hpp"
#include "reader.hpp"

#include <utf8.h> // idem::core::is_utf8

namespace idem::cli {
namespace {

Refusal unreadable(std::string reason)
{
    return {Fate::unreadable, {}, std::move(reason)};
}

// The text that a member's value is taken for, or nothing for null.
std::optional<std::string> text_of(const std::string &name, const JsonSlice &value)
{
    switch (value.kind) {
    case JsonKind::null:
        return std::nullopt;
    case JsonKind::string:
        return decode_json_string(value.text);
    case JsonKind::number:
        if (name == "amount_minor") {
            return std::string(value.text);
        }
        break;
    case JsonKind::object:
        if (name == "details") {
            return std::string(value.text);
        }
        break;
    default:
        break;
    }
    throw JsonError(name + " is of the wrong JSON type");
}

class JsonLinesReader final : public RecordReader {
public:
    JsonLinesReader(Buffered &input, ReadOptions options) : RecordReader(input, std::move(options)) {}
    std::optional<Record> next() override;

private:
    bool read_line();
    RequestOrRefusal parse();

    std::string text_;
    std::uint64_t line_ = 0;
    bool too_long_ = false;
};

// Reads a line without its end; false at the end of the file. What is beyond the limit is passed over.
bool JsonLinesReader::read_line()
{
    text_.clear();
    too_long_ = false;
    bool any = false;
    for (std::string_view part = input_.peek(); !part.empty(); part = input_.peek()) {
        any = true;
        const std::size_t end = part.find('\n');
        const std::string_view piece = part.substr(0, end);
        too_long_ = too_long_ || text_.size() + piece.size() > options_.record_limit;
        if (!too_long_) {
            text_ += piece;
        }
        input_.consume(piece.size() + (end != std::string_view::npos ? 1 : 0));
        if (end != std::string_view::npos) {
            break;
        }
    }
    line_ += any ? 1 : 0;
    return any;
}

std::optional<Record> JsonLinesReader::next()
{
    while (read_line()) {
        if (too_long_) {
            // The memory of the part that was read is given back.
            text_ = {};
            return Record{line_, 0, too_long()};
        }
        if (text_.find_first_not_of(" \t\r") != std::string::npos) {
            return Record{line_, text_.size(), parse()};
        }
    }
    return std::nullopt;
}

RequestOrRefusal JsonLinesReader::parse()
{
    if (!core::is_utf8(text_)) {
        return Refusal{Fate::unreadable, "22021", "it is not valid UTF-8"};
    }
    try {
        Fields fields;
        std::set<std::string> names;
        scan_members(text_, [&](const std::string &name, const JsonSlice &value) {
            std::optional<std::string> *field = field_named(fields, name);
            if (field == nullptr) {
                note_ignored(name);
                return;
            }
            if (!names.insert(name).second) {
                throw JsonError(name + " is there twice");
            }
            *field = text_of(name, value);
        });
        if (!fields.tenant_id) {
            fields.tenant_id = options_.tenant_id;
        }
        return make_request(std::move(fields));
    } catch (const JsonError &error) {
        return unreadable(error.what());
    }
}

} // namespace

std::unique_ptr<RecordReader> json_lines_reader(Buffered &input, ReadOptions options)
{
    return std::make_unique<JsonLinesReader>(input, std::move(options));
}

} // namespace idem::cli
