#include "names.h"

#include "apart.h"
#include "raise.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <exception>
#include <memory>
#include <netdb.h>
#include <sys/socket.h>
#include <system_error>
#include <utility>

namespace idem::client {
namespace {

using AddressList = std::unique_ptr<addrinfo, void (*)(addrinfo *)>;

[[noreturn]] void fail(const std::string &name, const std::string &reason)
{
    raise({"08001", "could not connect to the server",
           "The host name \"" + name + "\" could not be looked up: " + reason + "."});
}

// Asks the system as libpq does, and gives its error.
int ask(const std::string &name, int flags, AddressList &all)
{
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = flags;
    addrinfo *found = nullptr;
    const int error = getaddrinfo(name.c_str(), nullptr, &hints, &found);
    all = AddressList(error == 0 ? found : nullptr, &freeaddrinfo);
    return error;
}

} // namespace

bool is_name(const std::string &host)
{
    AddressList all(nullptr, &freeaddrinfo);
    return !host.empty() && host.front() != '/' && host.front() != '@' && ask(host, AI_NUMERICHOST, all) != 0;
}

std::vector<std::string> look_up(const std::string &name)
{
    AddressList all(nullptr, &freeaddrinfo);
    const int error = ask(name, 0, all);
    if (error != 0) {
        fail(name, error == EAI_SYSTEM ? std::generic_category().message(errno) : gai_strerror(error));
    }
    std::vector<std::string> addresses;
    for (const addrinfo *one = all.get(); one != nullptr; one = one->ai_next) {
        std::array<char, NI_MAXHOST> text{};
        const bool readable =
            getnameinfo(one->ai_addr, one->ai_addrlen, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) == 0;
        if (readable && std::find(addresses.begin(), addresses.end(), text.data()) == addresses.end()) {
            addresses.emplace_back(text.data());
        }
    }
    return addresses;
}

// Starts to look up a name.
Names::Addresses Names::begin(const std::string &name)
{
    std::promise<std::vector<std::string>> promise;
    Addresses addresses = promise.get_future().share();
    run_apart([look_up = look_up_, name, promise = std::move(promise)]() mutable {
        try {
            promise.set_value(look_up(name));
        } catch (...) {
            promise.set_exception(std::current_exception());
        }
    });
    return addresses;
}

std::vector<std::string> Names::addresses_of(const std::string &name, Deadline deadline)
{
    Addresses addresses;
    {
        const std::lock_guard lock(mutex_);
        Addresses &last = under_way_[name];
        if (!last.valid() || last.wait_for(std::chrono::seconds(0)) == std::future_status::ready) {
            try {
                last = begin(name);
            } catch (const std::system_error &error) {
                fail(name, std::string("there is no thread for it, ") + error.what());
            }
        }
        addresses = last;
    }
    if (addresses.wait_until(deadline.at()) != std::future_status::ready) {
        fail(name, "the time for it is over");
    }
    if (addresses.get().empty()) {
        fail(name, "there is no address");
    }
    return addresses.get();
}

} // namespace idem::client
