#pragma once

#include "chance.hpp"
#include "database.hpp"
#include "proxy_process.hpp"
#include "supervisor.hpp"

#include <chrono>
#include <optional>

namespace idem::verify {

/// Makes faults while a play goes on: kills its processes, ends its sessions, and has the proxy fail its connections.
/// When and which follows from the seed.
class FaultMaker {
public:
    /// `rate` faults a second on average. Without a proxy, only processes and sessions fail.
    FaultMaker(std::uint64_t seed, double rate, Supervisor &supervisor, Database &database,
               std::string application_name, ProxyProcess *proxy);

    /// Makes the faults that are due. To be called often.
    void make();
    /// Makes no more of them, not those either that wait for a statement to strike.
    void stop();
    /// Those that happened.
    [[nodiscard]] const FaultCounts &counts();

private:
    void make_one();

    Chance chance_;
    double rate_;
    Supervisor &supervisor_;
    Database &database_;
    std::string application_name_;
    ProxyProcess *proxy_;
    std::chrono::steady_clock::time_point next_;
    FaultCounts counts_;
};

} // namespace idem::verify
