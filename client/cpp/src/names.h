#pragma once

#include "deadline.h"

#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace idem::client {

/// Whether a host is a name that has to be looked up: neither an address nor a place of sockets.
bool is_name(const std::string &host);

/// The addresses of a name, as texts, in the order in which the system wants them tried. Takes as long as the system's
/// resolver does. Throws Error 08001 where there are none.
std::vector<std::string> look_up(const std::string &name);

/// Looks up names within a deadline, each on a thread of its own: no more than one for a name at a time, so that a
/// resolver that hangs does not cost a thread with each attempt. Remembers nothing. Thread-safe.
class Names {
public:
    using LookUp = std::function<std::vector<std::string>(const std::string &name)>;

    explicit Names(LookUp look_up = &client::look_up) : look_up_(std::move(look_up)) {}

    /// The addresses of the name. Throws Error 08001 where there are none, or the deadline passes first.
    std::vector<std::string> addresses_of(const std::string &name, Deadline deadline);

private:
    using Addresses = std::shared_future<std::vector<std::string>>;

    Addresses begin(const std::string &name);

    const LookUp look_up_;
    std::mutex mutex_;
    std::map<std::string, Addresses> under_way_;
};

} // namespace idem::client
