// Control lines: reads them, does what they say, and answers each.

#pragma once

#include "output.hpp"
#include "relay.hpp"

#include <poll.h>

#include <string>
#include <string_view>
#include <vector>

namespace idem::proxy {

class Control {
public:
    // Reads from a file, or nothing where it is -1.
    Control(int fd, Relay &relay, Output &output) : fd_(fd), relay_(relay), output_(output) {}

    [[nodiscard]] pollfd want() const { return {fd_, POLLIN, 0}; }

    // Reads what has come and obeys. Tells whether more may come.
    bool read();

private:
    void obey(std::string_view line);

    int fd_;
    Relay &relay_;
    Output &output_;
    std::string unfinished_;
};

} // namespace idem::proxy
