#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>

namespace idem::cache::test {

/// A server on the loopback address that does with each connection what a test wants, one after the other.
class OddServer {
public:
    /// The function gets a connected socket, and does not close it.
    explicit OddServer(std::function<void(int)> serve);
    OddServer(const OddServer &) = delete;
    OddServer &operator=(const OddServer &) = delete;
    ~OddServer();

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
    /// How many connections there were.
    [[nodiscard]] int served() const noexcept { return served_; }

private:
    int listener_;
    std::uint16_t port_ = 0;
    std::function<void(int)> serve_;
    std::atomic<int> served_ = 0;
    std::thread thread_;
};

/// A port that is listened on, while nobody ever answers: connections are accepted by the system alone, or, where
/// `full`, hang.
class SilentPort {
public:
    explicit SilentPort(bool full = false);
    SilentPort(const SilentPort &) = delete;
    SilentPort &operator=(const SilentPort &) = delete;
    ~SilentPort();

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

private:
    int listener_;
    std::uint16_t port_ = 0;
    int fillers_[4] = {-1, -1, -1, -1};
};

} // namespace idem::cache::test
