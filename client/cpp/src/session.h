#pragma once

#include "handles.h"
#include "wire.h"

#include <libpq-events.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace idem::client {

class Pool;

/// One connection of a pool, and what is known of its transaction. It belongs to one thread at a time.
class Session {
public:
    /// `age` grows with each connection that the pool makes.
    Session(Pool &home, ConnectionPtr connection, std::uint64_t age);
    Session(const Session &) = delete;
    Session &operator=(const Session &) = delete;
    ~Session();

    [[nodiscard]] PGconn *native() const noexcept { return connection_.get(); }
    [[nodiscard]] Pool &home() const noexcept { return *home_; }
    [[nodiscard]] std::uint64_t age() const noexcept { return age_; }
    /// host:port of the server.
    [[nodiscard]] const std::string &instance() const noexcept { return instance_; }

    /// Starts a new use: its statements end by the deadline, or, without one, each within the time.
    void use_until(Deadline deadline);
    void use_each(std::chrono::milliseconds time);

    /// For statements that commit nothing.
    Wire wire();

    /// Runs what commits by itself, on a wire that it is given, and reads the answer. Throws what these do, and Error
    /// 08007 where the wait for synchronous standbys was cancelled. Where the answer cannot be read, nothing is known.
    template <typename Run, typename Read>
    auto committing(Run run, Read read)
    {
        expect_commit();
        ResultPtr answer;
        try {
            Wire wire = this->wire();
            answer = run(wire);
            judge_wait();
        } catch (...) {
            commit_sent_ = uncertain();
            throw;
        }
        unread_ = true;
        auto result = read(answer.get());
        unread_ = false;
        return result;
    }

    /// Commits. Throws Error, 25P01 where the transaction has ended already, 40000 where the server rolled back
    /// instead, 08P01 where its answer says neither, and 08007 as above.
    void commit();

    /// Makes the commit wait for the synchronous standbys, although nothing else was written: by writing a message to
    /// the WAL that no one reads. Where the role may not do that, there is no wait. Throws Error.
    void wait_for_standbys();

    /// Rolls back within a short time, if a transaction is open and the connection in order.
    void roll_back() noexcept;

    [[nodiscard]] bool in_transaction() const;
    /// Whether a commit was asked for and it is not known how it ended.
    [[nodiscard]] bool uncertain() const { return commit_sent_ && (unread_ || lost() || wait_cancelled_); }
    /// Whether the connection is idle, and everything that was sent is answered.
    [[nodiscard]] bool reusable() const;
    /// Begins to be idle.
    void rest();
    /// Whether a connection that was idle is still good, as far as can be seen without asking the server. One that has
    /// just been used is taken for good: that saves a look at the socket with each call on a busy pool.
    [[nodiscard]] bool alive() const;

    /// While set, the transaction is committed by the client, not by the one who writes in it.
    bool managed = false;
    /// Whether the transaction has ended, whatever stands open now.
    [[nodiscard]] bool ended() const { return ended_; }
    /// To be called for a statement by which the application has ended it. Most are seen without that.
    void end() { ended_ = true; }

private:
    [[nodiscard]] bool lost() const;
    void watch();
    void expect_commit();
    void judge_wait() const;
    void see(std::string_view tag) noexcept;
    static void on_notice(void *session, const PGresult *notice);
    static int on_event(PGEventId event, void *information, void *session);

    Pool *home_;
    ConnectionPtr connection_;
    std::uint64_t age_;
    std::string instance_;
    std::optional<Deadline> deadline_;
    Deadline::Clock::time_point rested_{};
    std::chrono::milliseconds each_{0};
    bool commit_sent_ = false;
    bool ended_ = false;
    bool has_savepoint_ = false;
    bool has_rolled_back_ = false; ///< To a savepoint, as it seems.
    bool unread_ = false;          ///< The answer came, and could not be read yet.
    bool wait_cancelled_ = false;
    bool cancel_sent_ = false; ///< It may strike whatever runs next.
    bool dying_ = false;       ///< The server said so while nothing was asked.
};

} // namespace idem::client
