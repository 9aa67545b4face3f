#pragma once

#include "fault.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace idem::proxy {

// What a proxy is told at its start.
struct Options {
    std::string host;
    std::string port;

    // A network of this round trip.
    std::chrono::microseconds round_trip{0};

    // Faults by chance; see Plan.
    std::uint64_t seed = 0;
    double rate = 0;
    std::vector<Fault> faults = all_faults();

    // The longest delay by chance.
    std::chrono::milliseconds longest_delay{200};

    // How long the server's side of a connection stays after the client has left one that a fault made silent.
    std::chrono::milliseconds linger{0};

    // Where control lines come from, or -1: then the process that runs it is ended with its parent instead.
    int control = -1;

    // Where the port, the answers and the reports go.
    int output = STDOUT_FILENO;
};

// Reads the arguments of a command line, which begin behind the name of the program. Throws std::invalid_argument, with
// what is wrong.
Options parse_options(const std::vector<std::string> &arguments);

// What these arguments are.
extern const char *const kUsage;

} // namespace idem::proxy
