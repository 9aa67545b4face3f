#pragma once

#include <string>
#include <utility>
#include <vector>

namespace idem::client {

/// The parameters of one connection attempt: keywords and values as PQconnectStartParams takes them.
using ConnectionParameters = std::vector<std::pair<std::string, std::string>>;

/// Reads a connection string with libpq's service file and environment, and gives one set of parameters per host, in
/// the order in which to try them. Connects to nothing. Throws Error 08001 for a string that libpq cannot read.
std::vector<ConnectionParameters> resolve_hosts(const std::string &conninfo);

} // namespace idem::client
