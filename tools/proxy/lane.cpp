#include "lane.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace idem::proxy {

void Lane::push(std::string_view octets, Clock::time_point due)
{
    if (octets.empty()) {
        return;
    }
    size_ += octets.size();
    if (!chunks_.empty() && chunks_.back().due == due && !chunks_.back().octets.empty()) {
        chunks_.back().octets += octets;
    } else {
        chunks_.push_back({due, std::string(octets)});
    }
}

void Lane::end(Clock::time_point due)
{
    chunks_.push_back({due, {}});
}

void Lane::clear()
{
    chunks_.clear();
    size_ = 0;
    blocked_ = false;
}

void Lane::write(int fd, Clock::time_point now)
{
    blocked_ = false;
    while (!closed_ && !chunks_.empty() && chunks_.front().due <= now) {
        if (chunks_.front().octets.empty()) {
            closed_ = true;
        } else if (!write_front(fd)) {
            return;
        }
    }
}

// Writes the first chunk, and tells whether it is gone.
bool Lane::write_front(int fd)
{
    Chunk &chunk = chunks_.front();
    const std::size_t left = chunk.octets.size() - chunk.written;
    const ssize_t count = send(fd, chunk.octets.data() + chunk.written, left, MSG_NOSIGNAL);
    if (count < 0 && errno != EAGAIN && errno != EINTR) {
        closed_ = true;
        clear();
        return false;
    }
    const auto written = static_cast<std::size_t>(std::max<ssize_t>(count, 0));
    chunk.written += written;
    size_ -= written;
    blocked_ = written < left;
    if (!blocked_) {
        chunks_.pop_front();
    }
    return !blocked_;
}

Clock::time_point Lane::next() const
{
    return chunks_.empty() || blocked_ || closed_ ? Clock::time_point::max() : chunks_.front().due;
}

} // namespace idem::proxy
