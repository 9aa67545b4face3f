// What the proxy says: lines, to somebody who need not read them at once.

#pragma once

#include <poll.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace idem::proxy {

class Output {
public:
    explicit Output(int fd) : fd_(fd) {}

    void line(std::string_view text);

    // Reports a fault that happened to a connection, as an object of JSON. The number tells the how many-th point of
    // its kind it struck, 0 where it was no point; the answer is the command tag or SQLSTATE that the client did not
    // get.
    void fault(std::uint64_t connection, std::string_view fault, std::string_view point, std::uint64_t number,
               std::string_view answer);

    // What to wait for, and what to do once that has come.
    [[nodiscard]] pollfd want() const;
    void write();

    // Writes all that waits, unless nobody reads it for a second.
    void finish();

private:
    int fd_;
    std::string waiting_;
};

} // namespace idem::proxy
