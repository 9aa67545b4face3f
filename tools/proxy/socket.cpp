#include "socket.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace idem::proxy {

namespace {

[[noreturn]] void fail(const char *what)
{
    throw std::system_error(errno, std::generic_category(), what);
}

// Sends small messages at once; a Unix-domain socket does that anyway.
void send_at_once(int fd)
{
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

// Makes a socket that has a port of 127.0.0.1; 0 stands for any that is free.
Socket bind_to(std::uint16_t port)
{
    Socket bound(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    const int on = 1;
    if (!bound.open() || setsockopt(bound.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
        bind(bound.fd(), reinterpret_cast<sockaddr *>(&address), sizeof(address)) < 0) {
        fail("bind");
    }
    return bound;
}

std::uint16_t port_of(const Socket &bound)
{
    sockaddr_in address{};
    socklen_t length = sizeof(address);
    if (getsockname(bound.fd(), reinterpret_cast<sockaddr *>(&address), &length) < 0) {
        fail("getsockname");
    }
    return ntohs(address.sin_port);
}

Address resolve_folder(const std::string &folder, const std::string &port)
{
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = folder + "/.s.PGSQL." + port;
    if (path.size() >= sizeof(address.sun_path)) {
        throw std::invalid_argument("the path of the socket is too long");
    }
    std::memcpy(static_cast<char *>(address.sun_path), path.c_str(), path.size() + 1);
    Address result{{}, sizeof(address)};
    std::memcpy(&result.octets, &address, sizeof(address));
    return result;
}

} // namespace

Address resolve(const std::string &host, const std::string &port)
{
    if (host.starts_with('/')) {
        return resolve_folder(host, port);
    }
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo *found = nullptr;
    if (const int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &found); error != 0) {
        throw std::invalid_argument(gai_strerror(error));
    }
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, &freeaddrinfo);
    Address result{{}, found->ai_addrlen};
    std::memcpy(&result.octets, found->ai_addr, found->ai_addrlen);
    return result;
}

Socket &Socket::operator=(Socket &&other) noexcept
{
    if (this != &other) {
        close();
        fd_ = other.release();
    }
    return *this;
}

void Socket::close()
{
    if (fd_ >= 0) {
        ::close(std::exchange(fd_, -1));
    }
}

void Socket::reset_at_close() const
{
    const linger now{1, 0};
    setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

int Socket::release()
{
    return std::exchange(fd_, -1);
}

Listener::Listener()
{
    // Only a port that was asked for by its number stays with a socket that is shut down. So one socket finds a port
    // that is free, and another one asks for it before the first lets it go.
    const Socket finder = bind_to(0);
    port_ = port_of(finder);
    socket_ = bind_to(port_);
    if (listen(socket_.fd(), SOMAXCONN) < 0) {
        fail("listen");
    }
}

Socket Listener::accept() const
{
    Socket accepted(accept4(socket_.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (accepted.open()) {
        send_at_once(accepted.fd());
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        fail("accept");
    }
    return accepted;
}

void Listener::refuse(bool refused)
{
    if (refused == refused_) {
        return;
    }
    // Linux takes a socket that was shut down back to where bind left it.
    if (refused ? shutdown(socket_.fd(), SHUT_RDWR) < 0 : listen(socket_.fd(), SOMAXCONN) < 0) {
        fail("listen");
    }
    refused_ = refused;
}

Socket begin_connect(const Address &server)
{
    Socket connected(socket(server.octets.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!connected.open()) {
        fail("socket");
    }
    send_at_once(connected.fd());
    if (connect(connected.fd(), reinterpret_cast<const sockaddr *>(&server.octets), server.size) < 0 &&
        errno != EINPROGRESS && errno != EINTR) {
        connected.close();
    }
    return connected;
}

} // namespace idem::proxy
