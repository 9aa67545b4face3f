// One direction of a connection: octets that were read and wait until they are due.

#pragma once

#include "clock.hpp"

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

namespace idem::proxy {

class Lane {
public:
    // Takes octets that are due at a time. Nothing overtakes what was taken before.
    void push(std::string_view octets, Clock::time_point due);

    // Ends the lane behind what it has taken.
    void end(Clock::time_point due);

    // Forgets everything that is on its way.
    void clear();

    // Writes what is due by now to a socket.
    void write(int fd, Clock::time_point now);

    // Whether it should take no more for now: a network of some round trip holds so much, too.
    [[nodiscard]] bool full() const { return size_ >= kMaxSize; }

    // Whether something that is due did not fit into the socket.
    [[nodiscard]] bool blocked() const { return blocked_; }

    // Whether its end was reached, or the socket is gone.
    [[nodiscard]] bool closed() const { return closed_; }

    // The moment at which there is something to write, where that is known.
    [[nodiscard]] Clock::time_point next() const;

private:
    // Octets, or the end where there are none.
    struct Chunk {
        Clock::time_point due;
        std::string octets;
        std::size_t written = 0;
    };
    static constexpr std::size_t kMaxSize = std::size_t{16} * 1024 * 1024;

    bool write_front(int fd);

    std::deque<Chunk> chunks_;
    std::size_t size_ = 0;
    bool blocked_ = false;
    bool closed_ = false;
};

} // namespace idem::proxy
