#pragma once

#include "server.h"

#include <string>

namespace idem::client::test {

/// A server of the test's own, which listens on a port of 127.0.0.1. The extension is in its database `postgres`.
class Cluster {
public:
    /// A new primary.
    Cluster();
    /// A standby of another one, which streams under the name.
    Cluster(const Cluster &primary, const std::string &name);
    Cluster(const Cluster &) = delete;
    Cluster &operator=(const Cluster &) = delete;
    ~Cluster();

    [[nodiscard]] int port() const { return port_; }
    [[nodiscard]] std::string conninfo() const;
    void set(const std::string &name, const std::string &value);
    void start();
    /// Ends it at once, as a crash would.
    void stop();
    void promote();

private:
    Folder folder_;
    std::string data_;
    int port_;
    bool running_ = false;
};

/// A port of 127.0.0.1 that nothing listens on now.
int free_port();

} // namespace idem::client::test
