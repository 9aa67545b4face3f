#include "endpoint.h"

#include "failure.h"

#include <idem/error.hpp>

#include <netdb.h>
#include <sys/un.h>

#include <condition_variable>
#include <csignal>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>

namespace idem::cache {

namespace {

// The addresses that the system finds for a host, or its word for why there are none.
struct Found {
    std::vector<SocketAddress> addresses;
    std::string error;
};

Found look_up(const std::string &host, const std::string &port, int flags)
{
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = flags | AI_NUMERICSERV;
    addrinfo *list = nullptr;
    Found found;
    if (const int status = getaddrinfo(host.c_str(), port.c_str(), &hints, &list); status != 0) {
        found.error = gai_strerror(status);
        return found;
    }
    const std::unique_ptr<addrinfo, void (*)(addrinfo *)> owner(list, &freeaddrinfo);
    for (const addrinfo *entry = list; entry != nullptr; entry = entry->ai_next) {
        SocketAddress address;
        if (entry->ai_addrlen <= sizeof(address.storage)) {
            std::memcpy(&address.storage, entry->ai_addr, entry->ai_addrlen);
            address.length = entry->ai_addrlen;
            found.addresses.push_back(address);
        }
    }
    return found;
}

// Keeps the application's signals off the threads that are started while it lives.
class NoSignals {
public:
    NoSignals() noexcept
    {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    NoSignals(const NoSignals &) = delete;
    NoSignals &operator=(const NoSignals &) = delete;
    ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

private:
    sigset_t before_{};
};

} // namespace

// Looks a name up on a thread of its own: the system's lookup takes as long as it takes, and a call may not wait for
// that. There is at most one such thread; it keeps what it works on, and may outlive the endpoint.
class Endpoint::Lookup : public std::enable_shared_from_this<Lookup> {
public:
    Lookup(std::string host, std::string port) : host_(std::move(host)), port_(std::move(port)) {}

    std::vector<SocketAddress> wait(std::chrono::steady_clock::time_point deadline)
    {
        std::unique_lock lock(mutex_);
        const auto before = finished_;
        if (!running_) {
            const NoSignals guard;
            std::thread([self = shared_from_this()] { self->run(); }).detach();
            running_ = true;
        }
        if (!done_.wait_until(lock, deadline, [&] { return finished_ != before; })) {
            throw Failure("the name was not looked up in time");
        }
        if (found_.addresses.empty()) {
            throw Failure("the name was not found: " + found_.error);
        }
        return found_.addresses;
    }

private:
    void run() noexcept
    {
        Found found;
        try {
            found = look_up(host_, port_, 0);
        } catch (const std::exception &) {
            found = {};
        }
        const std::lock_guard lock(mutex_);
        found_ = std::move(found);
        ++finished_;
        running_ = false;
        done_.notify_all();
    }

    const std::string host_;
    const std::string port_;
    std::mutex mutex_;
    std::condition_variable done_;
    bool running_ = false;
    std::uint64_t finished_ = 0; ///< How many lookups have ended.
    Found found_;
};

Endpoint::Endpoint(std::string host, std::uint16_t port) : text_(host + ":" + std::to_string(port))
{
    fixed_ = look_up(host, std::to_string(port), AI_NUMERICHOST).addresses;
    if (fixed_.empty()) {
        lookup_ = std::make_shared<Lookup>(std::move(host), std::to_string(port));
    }
}

Endpoint::Endpoint(const std::string &unix_socket) : text_(unix_socket)
{
    sockaddr_un address{};
    if (unix_socket.size() >= sizeof(address.sun_path)) {
        throw client::Error("22023", "path of the unix socket must be shorter than " +
                                         std::to_string(sizeof(address.sun_path)) + " octets");
    }
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, unix_socket.data(), unix_socket.size());
    SocketAddress &only = fixed_.emplace_back();
    std::memcpy(&only.storage, &address, sizeof(address));
    only.length = sizeof(address);
}

Endpoint::~Endpoint() = default;

std::vector<SocketAddress> Endpoint::addresses(std::chrono::steady_clock::time_point deadline)
{
    return lookup_ ? lookup_->wait(deadline) : fixed_;
}

} // namespace idem::cache
