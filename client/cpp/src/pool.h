#pragma once

#include "calls.h"
#include "hosts.h"
#include "names.h"
#include "session.h"

#include <idem/client.hpp>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace idem::client {

/// Connections that are kept for the next one who needs them. Thread-safe. It outlives its sessions.
class Pool {
public:
    /// Throws Error 08001 for a connection string, and 22023 for a schema, that cannot be.
    explicit Pool(const ClientOptions &options);

    /// The statements of the calls in this database.
    [[nodiscard]] const Calls &calls() const noexcept { return calls_; }

    /// An idle connection, or a new one, or, where there are as many as there may be, the next that is given back.
    /// Throws Error 53300 where the deadline passes first, and those of connect().
    std::unique_ptr<Session> take(Deadline deadline);

    /// Takes a session back, and closes it unless it is idle and in order.
    void give(std::unique_ptr<Session> session) noexcept;

    /// Closes the connections to a server that is gone or cannot write: the idle ones now, the others when they come
    /// back. Needs no memory: it is called where that may be what is lacking.
    void distrust(const std::string &instance) noexcept;

private:
    std::unique_ptr<Session> open(std::uint64_t age, Deadline deadline);
    bool trusted(const Session &session) const;
    void leave() noexcept;

    const std::vector<ConnectionParameters> hosts_;
    Names names_;
    const Calls calls_;
    const std::size_t size_;
    const std::chrono::milliseconds connect_timeout_;
    std::mutex mutex_;
    std::condition_variable free_;
    std::vector<std::unique_ptr<Session>> idle_;
    std::size_t count_ = 0;  ///< Those that are idle, in use, or about to be opened.
    std::uint64_t made_ = 0; ///< Counts the connections that were ever begun.
    std::map<std::string, std::uint64_t>
        distrusted_; ///< By instance, the last connection that is not to be kept, or 0.
};

} // namespace idem::client
