#pragma once

#include "deadline.h"
#include "handles.h"
#include "hosts.h"
#include "names.h"

#include <chrono>
#include <vector>

namespace idem::client {

/// Connects to the first host that takes it, at the first of its addresses that does. All of them get a fair share of
/// the time until the deadline, and each no more than the given time, unless that is 0. The connection is non-blocking.
/// Throws Error 08001, or what all servers that answered say, such as 28P01.
ConnectionPtr connect(const std::vector<ConnectionParameters> &hosts, Names &names,
                      std::chrono::milliseconds time_per_address, Deadline deadline);

} // namespace idem::client
