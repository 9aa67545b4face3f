#include "pool.h"

#include <utility>

namespace idem::cache {

Pool::Pool(std::unique_ptr<Endpoint> endpoint, Login login, std::size_t limit)
    : endpoint_(std::move(endpoint)), login_(std::move(login)), limit_(limit)
{
    idle_.reserve(limit); // so that giving back needs no memory
}

std::optional<Pool::Lease> Pool::take(Deadline deadline)
{
    std::unique_lock lock(mutex_);
    if (!freed_.wait_until(lock, deadline, [this] { return taken_ < limit_; })) {
        return std::nullopt;
    }
    std::unique_ptr<Connection> connection;
    while (!connection && !idle_.empty()) {
        if (idle_.back()->in_order()) {
            connection = std::move(idle_.back());
        }
        idle_.pop_back();
    }
    ++taken_;
    return Lease(*this, std::move(connection));
}

void Pool::close_idle() noexcept
{
    const std::lock_guard lock(mutex_);
    idle_.clear();
}

void Pool::give_back(std::unique_ptr<Connection> connection) noexcept
{
    {
        const std::lock_guard lock(mutex_);
        --taken_;
        if (connection) {
            idle_.push_back(std::move(connection));
        }
    }
    freed_.notify_one();
}

Pool::Lease::Lease(Lease &&other) noexcept
    : pool_(std::exchange(other.pool_, nullptr)), connection_(std::move(other.connection_)), good_(other.good_)
{
}

Pool::Lease::~Lease()
{
    if (pool_ != nullptr) {
        pool_->give_back(good_ ? std::move(connection_) : nullptr);
    }
}

Connection &Pool::Lease::connection(Deadline deadline)
{
    if (!connection_) {
        connection_ = std::make_unique<Connection>(*pool_->endpoint_, pool_->login_, deadline);
    }
    return *connection_;
}

} // namespace idem::cache
