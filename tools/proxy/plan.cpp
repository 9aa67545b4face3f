#include "plan.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

namespace idem::proxy {

namespace {

// The finalizer of SplitMix64: every bit of the result depends on every bit of the value.
std::uint64_t mix(std::uint64_t value)
{
    value += 0x9e3779b97f4a7c15ULL;
    value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    value = (value ^ (value >> 27U)) * 0x94d049bb133111ebULL;
    return value ^ (value >> 31U);
}

// A number from 0 to 1, without 1.
double fraction(std::uint64_t chance)
{
    return static_cast<double>(chance >> 11U) * 0x1.0p-53;
}

std::size_t kind_of(Point point)
{
    switch (point) {
    case Point::connect:
        return 0;
    case Point::cancel:
        return 1;
    case Point::commit:
    case Point::autocommit:
        return 2;
    case Point::begin:
    case Point::statement:
    case Point::rollback:
        break;
    }
    return 3;
}

} // namespace

Plan::Plan(std::uint64_t seed, double rate, std::vector<Fault> faults)
    : seed_(seed), rate_(rate), faults_(std::move(faults))
{
}

void Plan::clear()
{
    armed_.clear();
    kept_.reset();
}

std::optional<Decision> Plan::decide(Point point)
{
    const std::size_t kind = kind_of(point);
    const std::uint64_t number = ++counts_.at(kind);
    const std::uint64_t chance = mix(mix(mix(seed_) ^ kind) ^ number);
    if (const auto order = asked_for(point)) {
        return Decision{order->fault, number, order->amount, mix(~chance)};
    }
    if (const auto fault = chosen(point, chance)) {
        return Decision{*fault, number, std::nullopt, mix(~chance)};
    }
    return std::nullopt;
}

std::optional<Order> Plan::asked_for(Point point)
{
    const auto fits = [&](const Order &order) { return order.points.has(point); };
    const auto found = std::find_if(armed_.begin(), armed_.end(), fits);
    if (found != armed_.end()) {
        const Order order = *found;
        armed_.erase(found);
        return order;
    }
    return kept_ && fits(*kept_) ? kept_ : std::nullopt;
}

std::optional<Fault> Plan::chosen(Point point, std::uint64_t chance) const
{
    if (fraction(chance) >= rate_) {
        return std::nullopt;
    }
    std::vector<Fault> possible;
    std::copy_if(faults_.begin(), faults_.end(), std::back_inserter(possible),
                 [&](Fault fault) { return usual_points(fault).has(point); });
    if (possible.empty()) {
        return std::nullopt;
    }
    return possible[mix(chance) % possible.size()];
}

} // namespace idem::proxy
