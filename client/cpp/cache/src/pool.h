#pragma once

#include "connection.h"

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace idem::cache {

/// A limited number of connections, opened when they are needed. Thread-safe.
class Pool {
public:
    using Deadline = Connection::Deadline;

    /// One place in the pool. Its connection is closed with it, unless it was said to be good.
    class Lease {
    public:
        Lease(Lease &&other) noexcept;
        Lease(const Lease &) = delete;
        Lease &operator=(const Lease &) = delete;
        Lease &operator=(Lease &&) = delete;
        ~Lease();

        /// The connection, which is opened where there was none. Throws Failure.
        Connection &connection(Deadline deadline);
        /// Says that the connection may be used again.
        void keep() noexcept { good_ = true; }

    private:
        friend class Pool;
        Lease(Pool &pool, std::unique_ptr<Connection> connection) noexcept
            : pool_(&pool), connection_(std::move(connection))
        {
        }

        Pool *pool_;
        std::unique_ptr<Connection> connection_;
        bool good_ = false;
    };

    Pool(std::unique_ptr<Endpoint> endpoint, Login login, std::size_t limit);

    /// A place in the pool, or nothing where none came free by the deadline.
    std::optional<Lease> take(Deadline deadline);

    /// Closes what is idle: where one connection has failed, the others are suspect.
    void close_idle() noexcept;

    [[nodiscard]] const Endpoint &endpoint() const noexcept { return *endpoint_; }

private:
    void give_back(std::unique_ptr<Connection> connection) noexcept;

    const std::unique_ptr<Endpoint> endpoint_;
    const Login login_;
    const std::size_t limit_;
    std::mutex mutex_;
    std::condition_variable freed_;
    std::size_t taken_ = 0;
    std::vector<std::unique_ptr<Connection>> idle_; ///< The one used last is used next.
};

} // namespace idem::cache
