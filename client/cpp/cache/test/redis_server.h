#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace idem::cache::test {

/// A port of the loopback address on which nobody listens.
std::uint16_t free_port();

/// A real Redis of the test's own, on a port and on a unix socket in a temporary folder. It ends with its owner, also
/// where that is killed.
class RedisServer {
public:
    /// Starts it. Throws std::runtime_error where there is no server to be found, or it does not answer.
    explicit RedisServer(std::vector<std::string> options = {});
    RedisServer(const RedisServer &) = delete;
    RedisServer &operator=(const RedisServer &) = delete;
    ~RedisServer();

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
    [[nodiscard]] std::string socket() const { return folder_ / "socket"; }

    /// Starts it again on the same port, with nothing in it.
    void start();
    /// Ends it at once.
    void kill();
    /// Lets it hang; the system goes on accepting connections for it.
    void freeze() const;
    void thaw() const;

    /// How many others than this class are connected.
    int clients() const;

    /// Runs a command as an administrator; the answer as text, or nothing for nil. Throws std::runtime_error.
    std::optional<std::string> run(const std::vector<std::string> &command) const;

private:
    void launch(const std::string &program);
    bool answers() const;

    std::filesystem::path folder_;
    std::uint16_t port_;
    std::vector<std::string> options_;
    pid_t process_ = -1;
};

} // namespace idem::cache::test
