#include "difference.h"

#include "escape.h"

namespace idem::core {
namespace {

constexpr size_t kMaxPathOctets = 160; // a path in a message; longer ones are cut

bool is_identifier(std::string_view name)
{
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    return !name.empty() && letter(name[0]) &&
           std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

} // namespace

void Differences::enter(std::string_view name)
{
    path_ += '.';
    if (is_identifier(name)) {
        path_ += name;
    } else {
        append_escaped(path_, name, Escape::unprintable); // a name cannot forge a log line
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
