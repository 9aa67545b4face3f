#include "waves.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>

namespace idem::core {
namespace {

// A request, and a content that its fingerprint would tell.
struct Request {
    std::string key;
    std::optional<std::string> order_ref;
    int amount;

    auto content() const { return std::tuple(order_ref, amount); }
};

std::vector<WaveItem> items_of(const std::vector<Request> &requests)
{
    std::vector<WaveItem> items;
    for (const Request &request : requests) {
        items.push_back({"tenant", "operation", request.key, {}});
        if (request.order_ref) {
            items.back().order_ref = *request.order_ref;
        }
    }
    return items;
}

// A ledger in miniature.
struct Store {
    std::map<std::string, Request> rows;
    std::set<std::string> orders;

    // What one call answers.
    std::string call(const Request &request)
    {
        const auto row = rows.find(request.key);
        if (row != rows.end()) {
            return row->second.content() == request.content() ? "replayed" : "conflict";
        }
        if (request.order_ref && orders.contains(*request.order_ref)) {
            return "order_taken";
        }
        rows.emplace(request.key, request);
        if (request.order_ref) {
            orders.insert(*request.order_ref);
        }
        return "created";
    }
};

// Answer a batch wave by wave, as the extension does.
std::vector<std::string> answer(Store store, const std::vector<Request> &requests, size_t &waves_run)
{
    std::vector<std::string> answers(requests.size());
    Waves waves(items_of(requests));
    waves_run = 0;
    for (Waves::Items wave = waves.next(); !wave.empty(); wave = waves.next()) {
        ++waves_run;
        EXPECT_TRUE(std::is_sorted(wave.begin(), wave.end(),
                                   [&](uint32_t a, uint32_t b) { return requests[a].key < requests[b].key; }));
        for (const uint32_t item : wave) {
            answers[item] = store.call(requests[item]);
            waves.settle(item);
            if (answers[item] != "conflict") {
                waves.own_order(item);
            }
            for (const uint32_t other : waves.same_scope(item)) {
                if (answers[item] == "order_taken" && requests[other].content() != requests[item].content()) {
                    break;
                }
                answers[other] = store.call(requests[other]);
                waves.settle(other);
            }
        }
    }
    return answers;
}

TEST(Waves, SortsScopesByTheirOctets)
{
    Waves waves(
        {{"b", "x", "1", {}}, {"a", "y", "1", {}}, {"a", "x", "\xff", {}}, {"a", "x", "2", {}}, {"", "x", "1", {}}});
    EXPECT_EQ(waves.next(), (Waves::Items{4, 3, 2, 1, 0}));
    EXPECT_FALSE(waves.holds_back());
}

TEST(Waves, TakesTheFirstOfEachScope)
{
    Waves waves(items_of({{"b", {}, 1}, {"a", {}, 1}, {"b", {}, 2}, {"a", {}, 2}}));
    EXPECT_EQ(waves.next(), (Waves::Items{1, 0}));
    EXPECT_EQ(waves.same_scope(0), (Waves::Items{0, 2}));
    waves.settle(0);
    waves.settle(1);
    EXPECT_EQ(waves.next(), (Waves::Items{3, 2}));
    waves.settle(2);
    waves.settle(3);
    EXPECT_TRUE(waves.next().empty());
}

TEST(Waves, HoldsBackTheLaterOfOneOrder)
{
    Waves waves(items_of({{"b", "o", 1}, {"a", "o", 1}, {"c", "p", 1}}));
    EXPECT_EQ(waves.next(), (Waves::Items{0, 2}));
    EXPECT_TRUE(waves.holds_back());
    EXPECT_EQ(waves.scopes(), (Waves::Items{1, 0, 2}));
    waves.settle(0);
    waves.settle(2);
    EXPECT_EQ(waves.next(), (Waves::Items{1}));
    EXPECT_FALSE(waves.holds_back());
}

TEST(Waves, HoldsNobodyBackForAnOrderThatHasItsTransaction)
{
    std::vector<Request> requests;
    for (int i = 0; i < 1000; ++i) {
        requests.push_back({"k" + std::to_string(i), "o", 1});
    }
    size_t waves = 0;
    const auto answers = answer({}, requests, waves);
    EXPECT_EQ(std::count(answers.begin(), answers.end(), "order_taken"), 999);
    EXPECT_EQ(waves, 2U);
}

TEST(Waves, AnswerAsSingleCallsInTheOrderOfTheInput)
{
    std::mt19937 random(7);
    const auto below = [&](unsigned limit) { return static_cast<int>(random() % limit); };
    const auto make = [&] {
        Request request{"k" + std::to_string(below(6)), {}, below(2)};
        if (below(2) == 0) {
            request.order_ref = "o" + std::to_string(below(4));
        }
        return request;
    };
    for (int round = 0; round < 20000; ++round) {
        Store store;
        for (int i = below(5); i > 0; --i) {
            store.call(make());
        }
        std::vector<Request> requests;
        for (int i = below(14); i > 0; --i) {
            requests.push_back(make());
        }
        Store sequential = store;
        std::vector<std::string> expected;
        for (const Request &request : requests) {
            expected.push_back(sequential.call(request));
        }
        size_t waves = 0;
        ASSERT_EQ(answer(store, requests, waves), expected) << "round " << round;
    }
}

} // namespace
} // namespace idem::core
