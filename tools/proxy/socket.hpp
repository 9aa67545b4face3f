// Sockets that never block.

#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>

namespace idem::proxy {

// Where a server listens.
struct Address {
    sockaddr_storage octets;
    socklen_t size;
};

// Finds the address of a host and port; a host that begins with / is the folder of a Unix-domain socket.
Address resolve(const std::string &host, const std::string &port);

// A socket that is closed with its owner; -1 stands for none.
class Socket {
public:
    explicit Socket(int fd = -1) : fd_(fd) {}
    ~Socket() { close(); }
    Socket(const Socket &) = delete;
    Socket &operator=(const Socket &) = delete;
    Socket(Socket &&other) noexcept : fd_(other.release()) {}
    Socket &operator=(Socket &&other) noexcept;

    [[nodiscard]] int fd() const { return fd_; }
    [[nodiscard]] bool open() const { return fd_ >= 0; }

    void close();

    // Makes the end of this connection a reset, as if the other machine knew nothing of it any more.
    void reset_at_close() const;

private:
    int release();

    int fd_;
};

// A socket that accepts connections on a free port of 127.0.0.1.
class Listener {
public:
    Listener();

    [[nodiscard]] int fd() const { return socket_.fd(); }
    [[nodiscard]] std::uint16_t port() const { return port_; }

    // Takes the next connection; gives none where there is none, and throws where there is no room for it.
    [[nodiscard]] Socket accept() const;

    // Refuses connections, those that wait included, or accepts them again. The port stays the same.
    void refuse(bool refused);
    [[nodiscard]] bool refuses() const { return refused_; }

private:
    std::uint16_t port_ = 0;
    Socket socket_;
    bool refused_ = false;
};

// Begins to connect to a server; gives none where that has failed at once.
Socket begin_connect(const Address &server);

} // namespace idem::proxy
