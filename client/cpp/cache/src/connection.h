#pragma once

#include "endpoint.h"
#include "reply.h"

#include <chrono>
#include <string>
#include <string_view>

namespace idem::cache {

/// How to log in; nothing, where both are empty.
struct Login {
    std::string username;
    std::string password;
};

/// A connection to Redis that keeps to deadlines, whatever the other side does. It does its own reading and writing:
/// hiredis' waits count per system call, so that a slow answer outlasts them, and writing raises SIGPIPE.
class Connection {
public:
    using Deadline = std::chrono::steady_clock::time_point;

    /// Connects and logs in. Throws Failure.
    Connection(Endpoint &endpoint, const Login &login, Deadline deadline);
    Connection(const Connection &) = delete;
    Connection &operator=(const Connection &) = delete;
    ~Connection();

    /// Sends a command and gives its answer. Throws Failure, after which the connection cannot be used.
    // It changes the state of the connection, if not that of this object.
    // NOLINTNEXTLINE(readability-make-member-function-const)
    Reply run(std::initializer_list<std::string_view> command, Deadline deadline);

    /// False where the other side has closed an idle connection or sent something unasked.
    [[nodiscard]] bool in_order() const noexcept;

private:
    int descriptor_ = -1;
};

/// The longest text that is read from Redis, and so the longest that is worth keeping there.
inline constexpr std::size_t kLongestText = std::size_t{1} << 20;

} // namespace idem::cache
