#include "framer.hpp"

#include <algorithm>

namespace idem::proxy {

namespace {

constexpr std::size_t kLengthSize = 4;
constexpr std::uint64_t kMaxOpening = 10'000; // what the server accepts

std::uint64_t read_length(std::string_view octets)
{
    std::uint64_t value = 0;
    for (const char octet : octets.substr(0, kLengthSize)) {
        value = value << 8U | static_cast<unsigned char>(octet);
    }
    return value;
}

} // namespace

void Framer::feed(std::string_view octets)
{
    buffer_.erase(0, taken_);
    taken_ = 0;
    buffer_ += octets;
}

Part Framer::take(std::size_t count)
{
    const Part part{std::string_view(buffer_).substr(taken_, count), std::nullopt};
    taken_ += count;
    return part;
}

std::optional<Part> Framer::next()
{
    const std::string_view octets = std::string_view(buffer_).substr(taken_);
    if (octets.empty()) {
        return std::nullopt;
    }
    if (rest_ > 0) {
        const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(rest_, octets.size()));
        rest_ -= count;
        return take(count);
    }
    if (phase_ == Phase::encryption_answer) {
        // A server that does not know the request answers with an ordinary message: an error.
        if (octets.front() != 'E') {
            Part part = take(1);
            part.message = Message{octets.front(), 0, {}};
            return part;
        }
        phase_ = Phase::messages;
    }
    if (phase_ == Phase::opaque) {
        return take(octets.size());
    }
    const std::size_t type_size = phase_ == Phase::opening ? 0 : 1;
    const std::size_t header = type_size + kLengthSize;
    if (octets.size() < header) {
        return std::nullopt;
    }
    const std::uint64_t length = read_length(octets.substr(type_size));
    const bool opening = phase_ == Phase::opening;
    if (length < (opening ? 2 * kLengthSize : kLengthSize) || (opening && length > kMaxOpening)) {
        phase_ = Phase::opaque;
        return take(octets.size());
    }
    const std::uint64_t body = length - kLengthSize;
    // An opening is taken whole: it is short.
    const auto head = static_cast<std::size_t>(opening ? body : std::min<std::uint64_t>(body, kHead));
    if (octets.size() < header + head) {
        return std::nullopt;
    }
    rest_ = body - head;
    Part part = take(header + head);
    part.message = Message{opening ? '\0' : octets.front(), body, part.octets.substr(header)};
    return part;
}

std::string_view Framer::held()
{
    return take(buffer_.size() - taken_).octets;
}

} // namespace idem::proxy
