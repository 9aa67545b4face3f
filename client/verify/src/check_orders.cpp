#include "evidence.hpp"

#include <algorithm>

namespace idem::verify {

namespace {

// An order as text for a reader.
std::string describe(const Order &order)
{
    return std::get<0>(order) + " " + std::get<1>(order) + " order " + std::get<2>(order);
}

// Nobody may be given an order that somebody else was given under another key.
void check_acknowledged_order(const Order &order, const std::vector<const Trial *> &trials, Violations &violations)
{
    const auto other = std::find_if(trials.begin(), trials.end(), [&](const Trial *trial) {
        return trial->request->scope != trials.front()->request->scope;
    });
    if (other != trials.end()) {
        violations.push_back({Property::one_per_order,
                              describe(order) + " was acknowledged for two keys",
                              {trials.front()->source(), (*other)->source()}});
    }
}

// Being told that an order is taken needs a transaction of that order with another key.
void check_order_taken(const Evidence &evidence, const Trial &trial, Violations &violations)
{
    if (!trial.answer || trial.answer->outcome != Outcome::order_taken) {
        return;
    }
    if (trial.request->order_ref) {
        const auto rows = evidence.orders.find(order_of(*trial.request));
        if (rows != evidence.orders.end() && std::any_of(rows->second.begin(), rows->second.end(), [&](const Row *row) {
                return row->scope != trial.request->scope;
            })) {
            return;
        }
    }
    violations.push_back({Property::order_taken_is_true,
                          describe(trial.request->scope) + " was told that its order is taken",
                          {trial.call->source, trial.source()}});
}

} // namespace

void check_orders(const Evidence &evidence, Violations &violations)
{
    for (const auto &[order, rows] : evidence.orders) {
        if (rows.size() > 1) {
            violations.push_back(
                {Property::one_per_order, describe(order) + " has " + std::to_string(rows.size()) + " rows"});
        }
    }
    for (const auto &[order, trials] : evidence.acknowledged_orders) {
        check_acknowledged_order(order, trials, violations);
    }
    for (const auto &[scope, of_scope] : evidence.scopes) {
        for (const Trial &trial : of_scope.trials) {
            check_order_taken(evidence, trial, violations);
        }
    }
}

} // namespace idem::verify
