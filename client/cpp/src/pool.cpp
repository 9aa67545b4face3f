#include "pool.h"

#include "connect.h"
#include "raise.h"

#include <algorithm>
#include <utility>

namespace idem::client {

Pool::Pool(const ClientOptions &options)
    : hosts_(resolve_hosts(options.conninfo)), calls_(options.schema),
      size_(std::max<std::size_t>(options.pool_size, 1)), connect_timeout_(options.connect_timeout)
{
    idle_.reserve(size_); // so that giving back cannot fail
}

std::unique_ptr<Session> Pool::take(Deadline deadline)
{
    std::unique_lock lock(mutex_);
    for (;;) {
        if (!idle_.empty()) {
            // The last one that was given back: the others can grow old, and a server's caches are warm.
            std::unique_ptr<Session> session = std::move(idle_.back());
            idle_.pop_back();
            lock.unlock();
            if (session->alive()) {
                return session;
            }
            session.reset();
            lock.lock();
            --count_;
            continue;
        }
        if (count_ < size_) {
            break;
        }
        if (free_.wait_until(lock, deadline.at()) == std::cv_status::timeout && idle_.empty() && count_ >= size_) {
            raise({"53300", "no connection of the pool became free in time"});
        }
    }
    ++count_;
    const std::uint64_t age = ++made_;
    lock.unlock();
    try {
        return open(age, deadline);
    } catch (...) {
        leave();
        throw;
    }
}

std::unique_ptr<Session> Pool::open(std::uint64_t age, Deadline deadline)
{
    auto session = std::make_unique<Session>(*this, connect(hosts_, names_, connect_timeout_, deadline), age);
    const std::lock_guard lock(mutex_);
    distrusted_.try_emplace(session->instance(), 0);
    return session;
}

// Makes room for another connection.
void Pool::leave() noexcept
{
    const std::lock_guard lock(mutex_);
    --count_;
    free_.notify_one();
}

bool Pool::trusted(const Session &session) const
{
    const auto last = distrusted_.find(session.instance());
    return last == distrusted_.end() || session.age() > last->second;
}

void Pool::give(std::unique_ptr<Session> session) noexcept
{
    if (!session) {
        return;
    }
    session->managed = false;
    if (session->reusable()) {
        session->rest();
        const std::lock_guard lock(mutex_);
        if (trusted(*session)) {
            idle_.push_back(std::move(session));
            free_.notify_one();
            return;
        }
    }
    session.reset();
    leave();
}

void Pool::distrust(const std::string &instance) noexcept
{
    std::unique_lock lock(mutex_);
    const auto last = distrusted_.find(instance);
    if (last == distrusted_.end()) {
        return;
    }
    last->second = made_;
    for (;;) {
        const auto old =
            std::find_if(idle_.begin(), idle_.end(), [&](const auto &session) { return !trusted(*session); });
        if (old == idle_.end()) {
            return;
        }
        std::unique_ptr<Session> closed = std::move(*old);
        idle_.erase(old);
        --count_;
        free_.notify_one();
        lock.unlock();
        closed.reset();
        lock.lock();
    }
}

} // namespace idem::client
