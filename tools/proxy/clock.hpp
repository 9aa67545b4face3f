#pragma once

#include <chrono>

namespace idem::proxy {

using Clock = std::chrono::steady_clock;

} // namespace idem::proxy
