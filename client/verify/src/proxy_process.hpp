#pragma once

#include "report.hpp"

#include <string>
#include <utility>

#include <sys/types.h>

namespace idem::verify {

/// The proxy that makes connections fail, in a process of its own.
class ProxyProcess {
public:
    /// Starts it in front of a server. Throws std::runtime_error.
    explicit ProxyProcess(const std::pair<std::string, std::string> &server);
    ProxyProcess(const ProxyProcess &) = delete;
    ProxyProcess &operator=(const ProxyProcess &) = delete;
    ~ProxyProcess();

    /// The port on 127.0.0.1 that it listens on.
    [[nodiscard]] const std::string &port() const noexcept { return port_; }
    /// Tells it something, as its control lines are.
    void tell(const std::string &line) const;
    /// Adds the faults that it has made since the last time.
    void count(FaultCounts &counts);

private:
    pid_t pid_ = 0;
    int control_ = -1;
    int output_ = -1;
    std::string port_;
    std::string unfinished_; // A line whose end has not come.
};

} // namespace idem::verify
