// Decides which fault strikes where: as it was told, or by chance that a seed repeats.

#pragma once

#include "fault.hpp"

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace idem::proxy {

// A fault that is to happen at the next of some points. The amount is in milliseconds, or in octets for cut_in_answer.
struct Order {
    Fault fault;
    Points points;
    std::optional<std::uint64_t> amount;
};

// A fault that happens now. Whatever amount it lacks follows from chance.
struct Decision {
    Fault fault;
    std::uint64_t number; // the how many-th point of its kind this is
    std::optional<std::uint64_t> amount;
    std::uint64_t chance;
};

class Plan {
public:
    // By chance, a fault strikes at this share of the points, and is one of these (an entry that is there twice is
    // twice as likely) of those that usually strike at such a point.
    Plan(std::uint64_t seed, double rate, std::vector<Fault> faults);

    // Asks for a fault at the next point that fits. Several are served in order.
    void arm(const Order &order) { armed_.push_back(order); }

    // Asks for a fault at every point that fits.
    void keep(const Order &order) { kept_ = order; }

    // Forgets what was asked for.
    void clear();

    // Changes the share of the points at which faults strike by chance.
    void set_rate(double rate) { rate_ = rate; }

    // Counts a point, and decides. Chance depends on the seed, on the kind of the point, which is an opening, a cancel,
    // a commit or another statement, and on how many of the kind were before it.
    std::optional<Decision> decide(Point point);

private:
    [[nodiscard]] std::optional<Order> asked_for(Point point);
    [[nodiscard]] std::optional<Fault> chosen(Point point, std::uint64_t chance) const;

    std::uint64_t seed_;
    double rate_;
    std::vector<Fault> faults_;
    std::deque<Order> armed_;
    std::optional<Order> kept_;
    std::array<std::uint64_t, 4> counts_{};
};

} // namespace idem::proxy
