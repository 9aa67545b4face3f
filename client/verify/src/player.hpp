#pragma once

#include <filesystem>

namespace idem::verify {

/// One process of a play: goes on where its history ends, plays, settles, and returns. Throws where the plan or the
/// history cannot be read or written.
void play_process(const std::filesystem::path &folder, int process);

/// Whether processes can use a cache in Redis.
[[nodiscard]] bool has_cache() noexcept;

} // namespace idem::verify
