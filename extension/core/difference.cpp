#include "difference.h"

#include "canonical.h"

namespace idem::core {
namespace {

constexpr size_t kMaxPathOctets = 160; // a path in a message; longer ones are cut

bool is_identifier(std::string_view name)
{
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    return !name.empty() && letter(name[0]) &&
           std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

// Append a name as a JSON string in which DEL, U+0080 to U+009F and the separators of lines and paragraphs are escaped
// too: JSON leaves them alone, but a terminal or a log reader may act on them.
void append_quoted(std::string &out, std::string_view name)
{
    std::string quoted;
    append_string(quoted, name);
    for (size_t i = 0; i < quoted.size(); ++i) {
        const std::string_view rest = std::string_view(quoted).substr(i);
        if (rest[0] == '\x7f') {
            out += "\\u007f";
        } else if (rest[0] == '\xC2' && static_cast<unsigned char>(rest[1]) < 0xA0) {
            constexpr char kHex[] = "0123456789abcdef";
            const auto octet = static_cast<unsigned char>(rest[1]);
            out += "\\u00";
            out += kHex[octet >> 4];
            out += kHex[octet & 0xf];
            i += 1;
        } else if (rest.starts_with("\u2028") || rest.starts_with("\u2029")) {
            out += rest[2] == '\xA8' ? "\\u2028" : "\\u2029";
            i += 2;
        } else {
            out += rest[0];
        }
    }
}

} // namespace

void Differences::enter(std::string_view name)
{
    path_ += '.';
    if (is_identifier(name)) {
        path_ += name;
    } else {
        append_quoted(path_, name); // a name cannot forge a log line
    }
}

void Differences::enter(size_t index)
{
    path_ += '[';
    path_ += std::to_string(index);
    path_ += ']';
}

void Differences::report()
{
    if (paths_.size() == limit_) {
        more_ = true;
        return;
    }
    if (path_.size() <= kMaxPathOctets) {
        paths_.push_back(path_);
        return;
    }
    size_t end = kMaxPathOctets;
    while ((static_cast<unsigned char>(path_[end]) & 0xC0) == 0x80) {
        --end; // not in the middle of a character
    }
    paths_.push_back(path_.substr(0, end) + "...");
}

} // namespace idem::core
