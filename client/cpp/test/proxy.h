#pragma once

#include <string>
#include <sys/types.h>

namespace idem::client::test {

/// The fault proxy in front of a server, by default the one of the environment.
class Proxy {
public:
    Proxy();
    Proxy(const std::string &host, const std::string &port);
    Proxy(const Proxy &) = delete;
    Proxy &operator=(const Proxy &) = delete;
    ~Proxy();

    [[nodiscard]] int port() const { return port_; }
    /// Gives a control line, which must be obeyed.
    void order(const std::string &line);
    /// How many faults of this name it has reported up to now.
    int count(const std::string &fault);

private:
    std::string line();

    pid_t process_ = -1;
    int to_ = -1;
    int from_ = -1;
    int port_ = 0;
    std::string unread_;
    std::string faults_;
};

} // namespace idem::client::test
