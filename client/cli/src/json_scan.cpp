#include "json_scan.hpp"

#include <utf8.h> // idem::core::append_character

#include <vector>

namespace idem::cli {
namespace {

constexpr unsigned kHighSurrogates = 0xD800;
constexpr unsigned kLowSurrogates = 0xDC00;
constexpr unsigned kAfterSurrogates = 0xE000;

bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

// The value of a hexadecimal digit, or 16.
unsigned hex_value(char c)
{
    if (is_digit(c)) {
        return static_cast<unsigned>(c - '0');
    }
    const char lower = static_cast<char>(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? static_cast<unsigned>(lower - 'a' + 10) : 16;
}

/// Reads JSON from front to back. It keeps the open brackets in a list, not on the stack of calls: no depth of nesting
/// can end the process.
class Scanner {
public:
    explicit Scanner(std::string_view text) : text_(text) {}

    void skip_blanks();
    JsonSlice value();
    std::string_view string();
    void colon();
    void expect(char c, const char *otherwise);
    [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
    [[nodiscard]] bool at_end() const { return at_ == text_.size(); }

private:
    [[nodiscard]] JsonKind kind() const;
    void scalar();
    void number();
    void digits();
    void word(std::string_view expected);
    void escape();
    bool enter(std::vector<bool> &open);
    bool leave(std::vector<bool> &open);

    std::string_view text_;
    std::size_t at_ = 0;
};

void Scanner::skip_blanks()
{
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) {
        ++at_;
    }
}

void Scanner::expect(char c, const char *otherwise)
{
    if (at_end() || text_[at_] != c) {
        throw JsonError(at_end() ? "the JSON ends too early" : otherwise);
    }
    ++at_;
}

// What the next value is, by its first character.
JsonKind Scanner::kind() const
{
    switch (peek()) {
    case '{':
        return JsonKind::object;
    case '[':
        return JsonKind::array;
    case '"':
        return JsonKind::string;
    case 't':
    case 'f':
        return JsonKind::boolean;
    case 'n':
        return JsonKind::null;
    default:
        return JsonKind::number;
    }
}

void Scanner::word(std::string_view expected)
{
    if (text_.substr(at_, expected.size()) != expected) {
        throw JsonError("there is no JSON value where one should be");
    }
    at_ += expected.size();
}

void Scanner::digits()
{
    if (!is_digit(peek())) {
        throw JsonError("a number of the JSON is malformed");
    }
    while (is_digit(peek())) {
        ++at_;
    }
}

void Scanner::number()
{
    const std::size_t start = at_;
    if (peek() == '-') {
        ++at_;
    }
    if (at_ == start && !is_digit(peek())) {
        throw JsonError(at_end() ? "the JSON ends too early" : "there is no JSON value where one should be");
    }
    if (peek() == '0') {
        ++at_;
    } else {
        digits();
    }
    if (peek() == '.') {
        ++at_;
        digits();
    }
    if (peek() == 'e' || peek() == 'E') {
        ++at_;
        if (peek() == '+' || peek() == '-') {
            ++at_;
        }
        digits();
    }
    if (is_digit(peek())) {
        throw JsonError("a number of the JSON is malformed");
    }
}

// Moves behind an escape, whose backslash was read.
void Scanner::escape()
{
    const char c = peek();
    if (c != 'u') {
        if (c == '\0' || std::string_view("\"\\/bfnrt").find(c) == std::string_view::npos) {
            throw JsonError("a string of the JSON has a malformed escape");
        }
        ++at_;
        return;
    }
    ++at_;
    for (int i = 0; i < 4; ++i, ++at_) {
        if (hex_value(peek()) > 15) {
            throw JsonError("a string of the JSON has a malformed escape");
        }
    }
}

// Moves behind a string, and gives it with its quotes.
std::string_view Scanner::string()
{
    const std::size_t start = at_;
    expect('"', "a name is missing in an object of the JSON");
    while (!at_end()) {
        const char c = text_[at_++];
        if (c == '"') {
            return text_.substr(start, at_ - start);
        }
        if (c == '\\') {
            escape();
        } else if (static_cast<unsigned char>(c) < 0x20) {
            throw JsonError("a string of the JSON has a control character, which must be escaped");
        }
    }
    throw JsonError("the JSON ends too early");
}

void Scanner::scalar()
{
    switch (kind()) {
    case JsonKind::string:
        string();
        break;
    case JsonKind::boolean:
        word(peek() == 't' ? "true" : "false");
        break;
    case JsonKind::null:
        word("null");
        break;
    default:
        number();
    }
}

// Moves from the end of a member's name to its value.
void Scanner::colon()
{
    skip_blanks();
    expect(':', "a colon is missing in an object of the JSON");
    skip_blanks();
}

// Goes into an array or object; false where it was empty, and is behind it.
bool Scanner::enter(std::vector<bool> &open)
{
    const bool object = peek() == '{';
    ++at_;
    skip_blanks();
    if (peek() == (object ? '}' : ']')) {
        ++at_;
        return false;
    }
    open.push_back(object);
    if (object) {
        string();
        colon();
    }
    return true;
}

// Goes behind all that ends with the value just read; false where that was the outermost, else at the next value.
bool Scanner::leave(std::vector<bool> &open)
{
    while (!open.empty()) {
        skip_blanks();
        if (peek() == ',') {
            ++at_;
            skip_blanks();
            if (open.back()) {
                string();
                colon();
            }
            return true;
        }
        expect(open.back() ? '}' : ']', "a comma or a closing bracket is missing in the JSON");
        open.pop_back();
    }
    return false;
}

JsonSlice Scanner::value()
{
    const std::size_t start = at_;
    const JsonKind outermost = kind();
    std::vector<bool> open; // One element for each open bracket: whether it is an object's.
    do {
        bool has_value = true;
        while (has_value && (peek() == '{' || peek() == '[')) {
            has_value = enter(open);
        }
        if (has_value) {
            scalar();
        }
    } while (leave(open));
    return {outermost, text_.substr(start, at_ - start)};
}

unsigned code_unit(std::string_view digits)
{
    unsigned unit = 0;
    for (const char c : digits) {
        unit = unit * 16 + hex_value(c);
    }
    return unit;
}

// Decodes the \uXXXX at `at`, and a second one that completes a pair, and moves behind them.
unsigned decode_unicode(std::string_view slice, std::size_t &at)
{
    const unsigned unit = code_unit(slice.substr(at + 2, 4));
    at += 6;
    if (unit < kHighSurrogates || unit >= kAfterSurrogates) {
        return unit;
    }
    if (unit < kLowSurrogates && slice.substr(at, 2) == "\\u") {
        const unsigned second = code_unit(slice.substr(at + 2, 4));
        if (second >= kLowSurrogates && second < kAfterSurrogates) {
            at += 6;
            return 0x10000 + ((unit - kHighSurrogates) << 10) + (second - kLowSurrogates);
        }
    }
    throw JsonError("a string of the JSON has half a surrogate pair");
}

char decode_escape(char c)
{
    switch (c) {
    case 'b':
        return '\b';
    case 'f':
        return '\f';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    default:
        return c;
    }
}

} // namespace

JsonSlice scan_json(std::string_view text)
{
    Scanner scanner(text);
    scanner.skip_blanks();
    const JsonSlice slice = scanner.value();
    scanner.skip_blanks();
    if (!scanner.at_end()) {
        throw JsonError("something follows the JSON value");
    }
    return slice;
}

void scan_members(std::string_view text,
                  const std::function<void(const std::string &name, const JsonSlice &value)> &take)
{
    Scanner scanner(text);
    scanner.skip_blanks();
    scanner.expect('{', "it is not a JSON object");
    scanner.skip_blanks();
    for (bool more = scanner.peek() != '}'; more;) {
        const std::string name = decode_json_string(scanner.string());
        scanner.colon();
        take(name, scanner.value());
        scanner.skip_blanks();
        more = scanner.peek() == ',';
        if (more) {
            scanner.expect(',', "");
            scanner.skip_blanks();
        }
    }
    scanner.expect('}', "a comma or a closing bracket is missing in the JSON");
    scanner.skip_blanks();
    if (!scanner.at_end()) {
        throw JsonError("something follows the JSON value");
    }
}

std::string decode_json_string(std::string_view slice)
{
    std::string out;
    out.reserve(slice.size());
    for (std::size_t at = 1; at + 1 < slice.size();) {
        if (slice[at] != '\\') {
            out += slice[at++];
        } else if (slice[at + 1] == 'u') {
            core::append_character(out, decode_unicode(slice, at));
        } else {
            out += decode_escape(slice[at + 1]);
            at += 2;
        }
    }
    return out;
}

} // namespace idem::cli
