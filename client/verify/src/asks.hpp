#pragma once

#include "records.hpp"

#include <filesystem>

namespace idem::client {
class Client;
} // namespace idem::client

namespace idem::verify {

/// Asks once more for every scope that was acknowledged, as a process that comes later does, and writes that down as
/// one more history. Tables tell what is stored; this tells that calls still find it.
void ask_for_all(client::Client &client, const History &history, const std::filesystem::path &folder);

} // namespace idem::verify
