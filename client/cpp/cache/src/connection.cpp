#include "connection.h"

#include "failure.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace idem::cache {

namespace {

using Clock = std::chrono::steady_clock;

// A socket that is closed with its owner.
class Socket {
public:
    explicit Socket(int descriptor) noexcept : descriptor_(descriptor) {}
    Socket(Socket &&other) noexcept : descriptor_(other.release()) {}
    Socket(const Socket &) = delete;
    Socket &operator=(const Socket &) = delete;
    Socket &operator=(Socket &&) = delete;
    ~Socket()
    {
        if (descriptor_ >= 0) {
            close(descriptor_);
        }
    }
    [[nodiscard]] int get() const noexcept { return descriptor_; }
    int release() noexcept { return std::exchange(descriptor_, -1); }

private:
    int descriptor_;
};

// What the system says about an error; strerror() is not for threads.
std::string words(int error)
{
    return std::system_category().message(error);
}

// Waits until the socket can be read or written; false where the deadline comes first.
bool wait_for(int descriptor, short events, Clock::time_point deadline)
{
    for (;;) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
        pollfd entry{descriptor, events, 0};
        const int ready = poll(&entry, 1, static_cast<int>(std::max<decltype(left)>(left, 0)));
        if (ready > 0) {
            return true; // errors of the socket too: what is tried next will name them
        }
        if (ready == 0 && Clock::now() >= deadline) {
            return false;
        }
        if (ready < 0 && errno != EINTR) {
            throw Failure("could not wait for the server: " + words(errno));
        }
    }
}

// Connects to one address by the deadline; gives the error where that fails.
std::pair<Socket, std::string> connect_to(const SocketAddress &address, Clock::time_point deadline)
{
    Socket socket(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (socket.get() < 0) {
        return {std::move(socket), words(errno)};
    }
    const auto *target = reinterpret_cast<const sockaddr *>(&address.storage);
    if (connect(socket.get(), target, address.length) != 0) {
        // EAGAIN is a unix socket whose queue is full; there is nothing to wait for.
        if (errno != EINPROGRESS && errno != EINTR) {
            return {Socket(-1), words(errno)};
        }
        if (!wait_for(socket.get(), POLLOUT, deadline)) {
            return {Socket(-1), "no connection in time"};
        }
        int error = 0;
        socklen_t length = sizeof(error);
        if (getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length) != 0) {
            error = errno;
        }
        if (error != 0) {
            return {Socket(-1), words(error)};
        }
    }
    if (address.storage.ss_family != AF_UNIX) {
        const int yes = 1; // without it a command could wait for the acknowledgement of the one before
        (void)setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    }
    return {std::move(socket), std::string()};
}

// Connects to the first address that takes it. Each gets its share of the time: one that swallows everything may not
// use it up.
Socket connect_to_any(Endpoint &endpoint, Clock::time_point deadline)
{
    const auto addresses = endpoint.addresses(deadline);
    std::string error;
    for (std::size_t i = 0; i < addresses.size(); ++i) {
        const auto now = Clock::now();
        const auto share = (deadline - now) / static_cast<int>(addresses.size() - i);
        auto [socket, why] = connect_to(addresses[i], now + share);
        if (socket.get() >= 0) {
            return std::move(socket);
        }
        error = std::move(why);
    }
    throw Failure("could not connect: " + error);
}

void send_all(int descriptor, std::string_view octets, Clock::time_point deadline)
{
    while (!octets.empty()) {
        const auto sent = send(descriptor, octets.data(), octets.size(), MSG_NOSIGNAL);
        if (sent >= 0) {
            octets.remove_prefix(static_cast<std::size_t>(sent));
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            if (!wait_for(descriptor, POLLOUT, deadline)) {
                throw Failure("no answer in time");
            }
        } else if (errno != EINTR) {
            throw Failure("could not send a command: " + words(errno));
        }
    }
}

Reply receive(int descriptor, Clock::time_point deadline)
{
    constexpr std::size_t kFraming = 64; // what the protocol adds to a text
    ReplyReader reader(kLongestText + kFraming);
    std::array<char, 16384> buffer;
    for (;;) {
        if (!wait_for(descriptor, POLLIN, deadline)) {
            throw Failure("no answer in time");
        }
        const auto received = recv(descriptor, buffer.data(), buffer.size(), 0);
        if (received == 0) {
            throw Failure("the server closed the connection");
        }
        if (received > 0) {
            if (reader.feed({buffer.data(), static_cast<std::size_t>(received)})) {
                return reader.take();
            }
        } else if (errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK) {
            throw Failure("could not receive an answer: " + words(errno));
        }
    }
}

Reply exchange(int descriptor, std::initializer_list<std::string_view> command, Clock::time_point deadline)
{
    send_all(descriptor, write_command(command), deadline);
    return receive(descriptor, deadline);
}

void log_in(int descriptor, const Login &login, Clock::time_point deadline)
{
    if (login.username.empty() && login.password.empty()) {
        return;
    }
    // A server before release 6 has no users, and knows the form with one argument only.
    const Reply reply = login.username.empty()
                            ? exchange(descriptor, {"AUTH", login.password}, deadline)
                            : exchange(descriptor, {"AUTH", login.username, login.password}, deadline);
    if (reply.kind != Reply::Kind::status) {
        throw Failure("could not log in: the server answered " + reply.error_code());
    }
}

} // namespace

Connection::Connection(Endpoint &endpoint, const Login &login, Deadline deadline)
{
    Socket socket = connect_to_any(endpoint, deadline);
    log_in(socket.get(), login, deadline);
    descriptor_ = socket.release();
}

Connection::~Connection()
{
    close(descriptor_);
}

// NOLINTNEXTLINE(readability-make-member-function-const)
Reply Connection::run(std::initializer_list<std::string_view> command, Deadline deadline)
{
    return exchange(descriptor_, command, deadline);
}

bool Connection::in_order() const noexcept
{
    pollfd entry{descriptor_, POLLIN, 0};
    return poll(&entry, 1, 0) == 0;
}

} // namespace idem::cache
