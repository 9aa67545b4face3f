#include "relay.hpp"

#include <algorithm>
#include <iterator>
#include <system_error>
#include <utility>

namespace idem::proxy {

namespace {

constexpr auto kRest = std::chrono::milliseconds(20);
constexpr int kMaxAccepted = 64; // before the others have their turn

} // namespace

Relay::Relay(const Options &options, Output &output)
    : output_(output),
      plan_(options.seed, options.rate, options.faults), network_{options.round_trip / 2, options.linger,
                                                                  options.longest_delay},
      target_(resolve(options.host, options.port))
{
}

void Relay::cut()
{
    for (Connection &connection : connections_) {
        connection.report_cut();
    }
    connections_.clear();
}

void Relay::want(std::vector<pollfd> &polled) const
{
    const bool accepts = !listener_.refuses() && !network_.paused && rests_until_ == Clock::time_point{};
    polled.push_back({accepts ? listener_.fd() : -1, POLLIN, 0});
    for (const Connection &connection : connections_) {
        connection.want(polled);
    }
}

void Relay::serve(const pollfd *sockets, Clock::time_point now)
{
    const pollfd &listener = *sockets++;
    for (auto connection = connections_.begin(); connection != connections_.end(); sockets += 2) {
        connection->serve(sockets[0], sockets[1], now);
        connection = connection->closed(now) ? connections_.erase(connection) : std::next(connection);
    }
    if (now >= rests_until_) {
        rests_until_ = {};
    }
    if (listener.revents != 0) {
        accept(now);
    }
}

void Relay::accept(Clock::time_point now)
{
    try {
        for (int count = 0; count < kMaxAccepted; ++count) {
            Socket client = listener_.accept();
            if (!client.open()) {
                return;
            }
            Socket server = network_.held ? Socket() : begin_connect(target_);
            connections_.emplace_back(++accepted_, std::move(client), std::move(server), network_, plan_, output_);
        }
    } catch (const std::system_error &) {
        // Too many files are open. To ask again at once would be of no use.
        rests_until_ = now + kRest;
    }
}

Clock::time_point Relay::next() const
{
    auto then = rests_until_ == Clock::time_point{} ? Clock::time_point::max() : rests_until_;
    for (const Connection &connection : connections_) {
        then = std::min(then, connection.next());
    }
    return then;
}

} // namespace idem::proxy
