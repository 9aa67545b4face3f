// A proxy in front of a PostgreSQL server that does what networks do at the worst moment. main.cpp tells the rest.

#pragma once

#include "options.hpp"

namespace idem::proxy {

// Listens on a free port of 127.0.0.1, says which on the output, and serves until the control lines end. It belongs
// into a process of its own, such as a forked child: it changes how the process treats signals and timers. Throws what
// derives from std::exception where it cannot go on.
void run(const Options &options);

} // namespace idem::proxy
