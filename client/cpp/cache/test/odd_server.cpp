#include "odd_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>
#include <utility>

namespace idem::cache::test {

namespace {

sockaddr_in loopback(std::uint16_t port)
{
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

// Listens on a port that the system chooses.
std::pair<int, std::uint16_t> listen_anywhere(int backlog)
{
    const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = loopback(0);
    socklen_t length = sizeof(address);
    auto *generic = reinterpret_cast<sockaddr *>(&address);
    if (bind(descriptor, generic, length) != 0 || listen(descriptor, backlog) != 0 ||
        getsockname(descriptor, generic, &length) != 0) {
        throw std::runtime_error("could not listen");
    }
    return {descriptor, ntohs(address.sin_port)};
}

} // namespace

OddServer::OddServer(std::function<void(int)> serve) : serve_(std::move(serve))
{
    std::tie(listener_, port_) = listen_anywhere(128);
    thread_ = std::thread([this] {
        for (;;) {
            const int connection = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
            if (connection < 0) {
                return; // the destructor has shut the listener
            }
            ++served_;
            serve_(connection);
            close(connection);
        }
    });
}

OddServer::~OddServer()
{
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
}

SilentPort::SilentPort(bool full)
{
    std::tie(listener_, port_) = listen_anywhere(full ? 0 : 1024);
    if (full) {
        // The queue takes one or two; to those behind them, the system does not answer at all.
        for (int &filler : fillers_) {
            filler = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
            const sockaddr_in address = loopback(port_);
            (void)connect(filler, reinterpret_cast<const sockaddr *>(&address), sizeof(address));
        }
    }
}

SilentPort::~SilentPort()
{
    for (const int filler : fillers_) {
        if (filler >= 0) {
            close(filler);
        }
    }
    close(listener_);
}

} // namespace idem::cache::test
