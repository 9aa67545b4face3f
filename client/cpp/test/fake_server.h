#pragma once

#include <arpa/inet.h>
#include <atomic>
#include <cstdint>
#include <functional>
#include <netinet/in.h>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace idem::client::test {

/// A message of a server: its kind, its length, what it holds.
inline std::string message(char kind, const std::string &body)
{
    const std::uint32_t length = htonl(static_cast<std::uint32_t>(body.size() + sizeof(std::uint32_t)));
    return kind + std::string(reinterpret_cast<const char *>(&length), sizeof(length)) + body;
}

/// Listens on an address of the loopback and plays a server to each who connects, one after the other: it reads what
/// comes first, and then does as `play` says, which is given a function that sends, and tells whether it could.
class FakeServer {
public:
    using Send = std::function<bool(const std::string &octets)>;
    using Play = std::function<void(const Send &send)>;

    /// On a port that is free, or on the one given.
    FakeServer(const std::string &address, Play play, int port = 0)
        : play_(std::move(play)), socket_(::socket(AF_INET, SOCK_STREAM, 0))
    {
        sockaddr_in place{};
        place.sin_family = AF_INET;
        place.sin_port = htons(static_cast<std::uint16_t>(port));
        inet_pton(AF_INET, address.c_str(), &place.sin_addr);
        const int yes = 1;
        setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
        socklen_t size = sizeof(place);
        auto *generic = reinterpret_cast<sockaddr *>(&place);
        if (bind(socket_, generic, size) != 0 || listen(socket_, 100) != 0 ||
            getsockname(socket_, generic, &size) != 0) {
            close(socket_);
            throw std::runtime_error("could not listen");
        }
        port_ = ntohs(place.sin_port);
        thread_ = std::thread([this] { serve(); });
    }
    FakeServer(const FakeServer &) = delete;
    FakeServer &operator=(const FakeServer &) = delete;
    ~FakeServer()
    {
        ended_ = true;
        shutdown(socket_, SHUT_RDWR);
        thread_.join();
        close(socket_);
        for (const int client : clients_) {
            close(client);
        }
    }

    [[nodiscard]] int port() const { return port_; }
    /// How many have connected.
    [[nodiscard]] int count() const { return count_; }

private:
    void serve()
    {
        for (int client = 0; (client = accept(socket_, nullptr, nullptr)) >= 0;) {
            clients_.push_back(client); // which stay open until the end
            ++count_;
            char buffer[4096];
            if (read(client, buffer, sizeof(buffer)) > 0) {
                play_([this, client](const std::string &octets) {
                    return !ended_ && send(client, octets.data(), octets.size(), MSG_NOSIGNAL) ==
                                          static_cast<ssize_t>(octets.size());
                });
            }
        }
    }

    Play play_;
    int socket_;
    int port_ = 0;
    std::atomic<bool> ended_ = false;
    std::atomic<int> count_ = 0;
    std::vector<int> clients_;
    std::thread thread_;
};

/// Says nothing.
inline void stay_silent(const FakeServer::Send & /*send*/) {}

/// Lets the client in, and says that it is ready.
inline void welcome(const FakeServer::Send &send)
{
    send(message('R', std::string(4, '\0')) + message('Z', "I"));
}

/// Sends notices without an end, many at a time, so that there is always more than the client has read.
inline void chatter(const FakeServer::Send &send)
{
    const std::string end(1, '\0');
    const std::string notice = message('N', "SNOTICE" + end + "C00000" + end + "Mstill here" + end + end);
    std::string many;
    for (int i = 0; i < 1000; ++i) {
        many += notice;
    }
    while (send(many)) {
    }
}

/// Lets the client in, and chatters before it says that it is ready.
inline void let_in_and_chatter(const FakeServer::Send &send)
{
    send(message('R', std::string(4, '\0')));
    chatter(send);
}

/// Refuses the client with the SQLSTATE.
inline FakeServer::Play refuse_with(const std::string &sqlstate)
{
    return [sqlstate](const FakeServer::Send &send) {
        const std::string end(1, '\0');
        send(message('E', "SFATAL" + end + "VFATAL" + end + "C" + sqlstate + end + "Mno" + end + "Fauth.c" + end +
                              "L335" + end + "Rauth_failed" + end + end));
    };
}

} // namespace idem::client::test
