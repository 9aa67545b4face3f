#pragma once

namespace idem::cli {

/// From now on the first SIGINT or SIGTERM is noted, and ends nothing; a second one ends the process as ever.
void watch_interrupts();

/// The signal that was noted, or 0.
[[nodiscard]] int noted_signal() noexcept;

/// Whether one was noted.
[[nodiscard]] inline bool interrupted() noexcept
{
    return noted_signal() != 0;
}

} // namespace idem::cli
