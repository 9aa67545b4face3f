#pragma once

#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace idem::cache {

/// An address that a socket can be connected to.
struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t length = 0;
};

/// Where Redis is: a host and port, or a unix socket. Thread-safe.
class Endpoint {
public:
    Endpoint(std::string host, std::uint16_t port);
    /// Throws client::Error 22023 for a path that is longer than the system takes.
    explicit Endpoint(const std::string &unix_socket);
    Endpoint(const Endpoint &) = delete;
    Endpoint &operator=(const Endpoint &) = delete;
    ~Endpoint();

    /// The addresses, in the order to try them. Throws Failure where the name has none, or was not looked up in time.
    std::vector<SocketAddress> addresses(std::chrono::steady_clock::time_point deadline);

    /// host:port or the path, for a message.
    [[nodiscard]] const std::string &text() const noexcept { return text_; }

private:
    class Lookup;

    std::string text_;
    std::vector<SocketAddress> fixed_; ///< What needs no lookup.
    std::shared_ptr<Lookup> lookup_;
};

} // namespace idem::cache
