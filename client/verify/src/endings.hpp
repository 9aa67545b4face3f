#pragma once

#include "records.hpp"

#include <string_view>

namespace idem::verify {

/// In place of a SQLSTATE: the action of Client::once threw an exception of its own, as an application may.
inline constexpr std::string_view kApplicationFailed = "application";

/// Whether a call that ended so has its answer; all others have to be made again.
[[nodiscard]] bool is_final(const Ending &ending) noexcept;

/// Whether an error may come from a fault that a play makes. No other may come out of the client.
[[nodiscard]] bool is_explained(std::string_view sqlstate) noexcept;

} // namespace idem::verify
