// Passes TCP connections on to a server and delivers every octet late, as a network of that round trip would.
//
// usage: delay_proxy HOST PORT ROUND_TRIP_MICROSECONDS
//
// Listens on a free port of 127.0.0.1, which is the only line it prints, and ends with the process that started it.
// It delays and does not limit: what is on its way counts against nothing, and octets that are due go out at once.

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <list>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void fail(const char *what)
{
    throw std::system_error(errno, std::generic_category(), what);
}

// A socket that is closed with its owner.
class Socket {
public:
    explicit Socket(int fd) : fd_(fd)
    {
        if (fd_ < 0) {
            fail("socket");
        }
    }
    ~Socket() { close(fd_); }
    Socket(const Socket &) = delete;
    Socket &operator=(const Socket &) = delete;
    Socket(Socket &&) = delete;
    Socket &operator=(Socket &&) = delete;

    [[nodiscard]] int fd() const { return fd_; }

    // Sends small messages at once, and never blocks.
    void prepare() const
    {
        int on = 1;
        setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        if (fcntl(fd_, F_SETFL, O_NONBLOCK) < 0) {
            fail("fcntl");
        }
    }

private:
    int fd_;
};

// One direction of a connection: octets that were read and wait until they are due.
class Lane {
public:
    Lane(int from, int to, Clock::duration delay) : from_(from), to_(to), delay_(delay) {}

    // Says what to wait for: more to read, and room to write where something that is due did not fit.
    void want(pollfd &from, pollfd &to) const
    {
        if (!ended_ && chunks_.size() < kMaxChunks) {
            from.events |= POLLIN;
        }
        if (blocked_) {
            to.events |= POLLOUT;
        }
    }

    // Reads what has come; the end of the input travels like octets do.
    void read(Clock::time_point now)
    {
        std::array<char, 65536> buffer;
        const ssize_t count = ::read(from_, buffer.data(), buffer.size());
        if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
            return;
        }
        ended_ = count <= 0;
        chunks_.push_back({now + delay_, std::string(buffer.data(), ended_ ? 0 : static_cast<std::size_t>(count))});
    }

    // Writes what is due by now.
    void write(Clock::time_point now)
    {
        blocked_ = false;
        while (!blocked_ && !chunks_.empty() && chunks_.front().due <= now) {
            std::string &octets = chunks_.front().octets;
            if (octets.empty()) {
                shutdown(to_, SHUT_WR);
                chunks_.pop_front();
                closed_ = true;
                continue;
            }
            const ssize_t count = send(to_, octets.data(), octets.size(), MSG_NOSIGNAL);
            if (count < 0 && errno != EAGAIN && errno != EINTR) {
                ended_ = closed_ = true;
                chunks_.clear();
                return;
            }
            octets.erase(0, static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
            blocked_ = !octets.empty();
            if (!blocked_) {
                chunks_.pop_front();
            }
        }
    }

    [[nodiscard]] bool closed() const { return closed_; }

    // The moment at which there is something to write, where that is known.
    [[nodiscard]] Clock::time_point next() const
    {
        return chunks_.empty() || blocked_ ? Clock::time_point::max() : chunks_.front().due;
    }

private:
    struct Chunk {
        Clock::time_point due;
        std::string octets;
    };
    static constexpr std::size_t kMaxChunks = 1000;

    int from_;
    int to_;
    Clock::duration delay_;
    std::deque<Chunk> chunks_;
    bool ended_ = false;
    bool blocked_ = false;
    bool closed_ = false;
};

// A client, its connection to the server, and the two lanes between them.
class Connection {
public:
    Connection(int client, const addrinfo &server, Clock::duration delay)
        : client_(client), server_(socket(server.ai_family, SOCK_STREAM, 0)), there_(client_.fd(), server_.fd(), delay),
          back_(server_.fd(), client_.fd(), delay)
    {
        if (connect(server_.fd(), server.ai_addr, server.ai_addrlen) < 0) {
            fail("connect");
        }
        client_.prepare();
        server_.prepare();
    }

    // Adds its two sockets to what is waited for.
    void want(std::vector<pollfd> &polled) const
    {
        pollfd client{client_.fd(), 0, 0};
        pollfd server{server_.fd(), 0, 0};
        there_.want(client, server);
        back_.want(server, client);
        polled.push_back(client);
        polled.push_back(server);
    }

    // Moves what can be moved now.
    void serve(const pollfd &client, const pollfd &server, Clock::time_point now)
    {
        if ((client.events & POLLIN) != 0 && client.revents != 0) {
            there_.read(now);
        }
        if ((server.events & POLLIN) != 0 && server.revents != 0) {
            back_.read(now);
        }
        there_.write(now);
        back_.write(now);
    }

    // A side that has gone takes the other one along: no client of a database closes just half of its connection.
    [[nodiscard]] bool closed() const { return there_.closed() || back_.closed(); }
    [[nodiscard]] Clock::time_point next() const { return std::min(there_.next(), back_.next()); }

private:
    Socket client_;
    Socket server_;
    Lane there_;
    Lane back_;
};

// Opens a port of 127.0.0.1 that is free, and prints its number.
int listen_somewhere()
{
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    auto *generic = reinterpret_cast<sockaddr *>(&address);
    if (bind(listener, generic, length) < 0 || listen(listener, SOMAXCONN) < 0 ||
        getsockname(listener, generic, &length) < 0) {
        fail("listen");
    }
    std::cout << ntohs(address.sin_port) << std::endl;
    return listener;
}

// Waits until a socket has something, or until then.
void wait_for(std::vector<pollfd> &polled, Clock::time_point then)
{
    timespec timeout{};
    if (then != Clock::time_point::max()) {
        const auto left = std::max(then - Clock::now(), Clock::duration::zero());
        const auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(left).count();
        timeout = {nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000};
    }
    if (ppoll(polled.data(), polled.size(), then == Clock::time_point::max() ? nullptr : &timeout, nullptr) < 0 &&
        errno != EINTR) {
        fail("ppoll");
    }
}

[[noreturn]] void relay(const addrinfo &server, Clock::duration delay)
{
    const Socket listener(listen_somewhere());
    std::list<Connection> connections;
    std::vector<pollfd> polled;
    for (;;) {
        polled.assign(1, {listener.fd(), POLLIN, 0});
        auto then = Clock::time_point::max();
        for (const Connection &connection : connections) {
            connection.want(polled);
            then = std::min(then, connection.next());
        }
        wait_for(polled, then);
        const auto now = Clock::now();
        const pollfd *sockets = polled.data() + 1;
        for (auto connection = connections.begin(); connection != connections.end(); sockets += 2) {
            connection->serve(sockets[0], sockets[1], now);
            connection = connection->closed() ? connections.erase(connection) : std::next(connection);
        }
        if (polled.front().revents != 0) {
            connections.emplace_back(accept(listener.fd(), nullptr, nullptr), server, delay);
        }
    }
}

} // namespace

int main(int argc, char **argv)
{
    try {
        if (argc != 4) {
            throw std::invalid_argument("usage: delay_proxy HOST PORT ROUND_TRIP_MICROSECONDS");
        }
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        // Otherwise the kernel may add 50 microseconds to each wait.
        prctl(PR_SET_TIMERSLACK, 1UL);
        addrinfo hints{};
        hints.ai_socktype = SOCK_STREAM;
        addrinfo *server = nullptr;
        if (const int error = getaddrinfo(argv[1], argv[2], &hints, &server); error != 0) {
            throw std::runtime_error(gai_strerror(error));
        }
        relay(*server, std::chrono::microseconds(std::stol(argv[3])) / 2);
    } catch (const std::exception &error) {
        std::cerr << "delay_proxy: " << error.what() << '\n';
        return 1;
    }
}
