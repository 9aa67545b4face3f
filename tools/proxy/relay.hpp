// All connections of a proxy, and what decides about them.

#pragma once

#include "clock.hpp"
#include "connection.hpp"
#include "options.hpp"
#include "output.hpp"
#include "plan.hpp"
#include "socket.hpp"

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <list>
#include <vector>

namespace idem::proxy {

class Relay {
public:
    Relay(const Options &options, Output &output);

    [[nodiscard]] std::uint16_t port() const { return listener_.port(); }
    Plan &plan() { return plan_; }
    Network &network() { return network_; }

    // Where new connections lead.
    void set_target(const Address &target) { target_ = target; }

    // Refuses new connections, or accepts them again.
    void refuse(bool refused) { listener_.refuse(refused); }

    // Ends all connections at once.
    void cut();

    // Adds its sockets to what is waited for.
    void want(std::vector<pollfd> &polled) const;

    // Takes new connections and moves what can be moved. The sockets are those that it wanted.
    void serve(const pollfd *sockets, Clock::time_point now);

    // The moment at which there is something to do, where that is known.
    [[nodiscard]] Clock::time_point next() const;

private:
    void accept(Clock::time_point now);

    Output &output_;
    Plan plan_;
    Network network_;
    Address target_;
    Listener listener_;
    Clock::time_point rests_until_{}; // no connections are taken before, because there was no room for one
    std::uint64_t accepted_ = 0;
    std::list<Connection> connections_;
};

} // namespace idem::proxy
