#include "reader.hpp"

#include <utf8.h> // idem::core::is_utf8

namespace idem::cli {

void RecordReader::note_ignored(std::string_view name)
{
    constexpr std::size_t kMost = 10;
    constexpr std::size_t kLongest = 100;
    if (ignored_.size() < kMost && name.size() <= kLongest && core::is_utf8(name)) {
        ignored_.emplace(name);
    }
}

Refusal RecordReader::too_long() const
{
    return {Fate::unreadable, {}, "it is longer than " + std::to_string(options_.record_limit) + " octets"};
}

} // namespace idem::cli
