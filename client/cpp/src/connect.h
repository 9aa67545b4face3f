#pragma once

#include "deadline.h"
#include "handles.h"
#include "hosts.h"

#include <chrono>
#include <vector>

namespace idem::client {

/// Connects to the first host that takes it, trying each for the given time at most, and all until the deadline. The
/// connection is non-blocking. Throws Error 08001, or what all servers that answered say, such as 28P01.
ConnectionPtr connect(const std::vector<ConnectionParameters> &hosts, std::chrono::milliseconds time_per_host,
                      Deadline deadline);

} // namespace idem::client
