#include "script.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace idem::verify {
namespace {

constexpr int kProcesses = 4;
constexpr std::uint64_t kNumbers = 500;

// All steps of some lanes.
std::vector<Step> all_steps(const Script &script)
{
    std::vector<Step> steps;
    for (int process = 0; process < kProcesses; process++) {
        for (std::uint64_t number = 0; number < kNumbers; number++) {
            steps.push_back(script.step(process, process % 2, number));
        }
    }
    return steps;
}

TEST(Script, IsTheSameForTheSameSeed)
{
    const auto steps = all_steps(Script(7, "t", 0));
    const auto again = all_steps(Script(7, "t", 0));
    const auto other = all_steps(Script(8, "t", 0));
    std::size_t differs = 0;
    for (std::size_t i = 0; i < steps.size(); i++) {
        EXPECT_EQ(steps[i].kind, again[i].kind);
        EXPECT_EQ(steps[i].requests, again[i].requests);
        EXPECT_EQ(steps[i].holds, again[i].holds);
        EXPECT_EQ(steps[i].action_fails, again[i].action_fails);
        EXPECT_EQ(steps[i].asks, again[i].asks);
        differs += steps[i].requests == other[i].requests ? 0 : 1;
    }
    EXPECT_EQ(differs, steps.size());
}

TEST(Script, UsesEveryKindOfCall)
{
    std::map<Kind, int> kinds;
    int fails = 0;
    int asks = 0;
    int holds = 0;
    for (const Step &step : all_steps(Script(1, "t", 0))) {
        kinds[step.kind]++;
        fails += step.action_fails ? 1 : 0;
        asks += step.asks ? 1 : 0;
        holds += step.holds.count() > 0 ? 1 : 0;
    }
    for (const Kind kind : {Kind::once, Kind::create, Kind::attempt, Kind::batch}) {
        EXPECT_GT(kinds[kind], 100) << to_string(kind);
    }
    EXPECT_GT(fails, 0);
    EXPECT_GT(asks, 0);
    EXPECT_GT(holds, 0);
}

// The checker counts business rows by that.
TEST(Script, UsesOnceForKeysWithABusinessRowAndForThemAlone)
{
    std::map<Scope, bool> posts;
    for (const Step &step : all_steps(Script(1, "t", 0))) {
        for (const Posed &request : step.requests) {
            const bool once = step.kind == Kind::once;
            EXPECT_EQ(posts.emplace(request.scope, once).first->second, once);
        }
    }
}

TEST(Script, SendsTheSameRequestTheSameRewordedAndChanged)
{
    const Script script(1, "t", 0);
    std::map<Scope, std::set<std::string>> contents;
    std::map<std::string, std::set<std::string>> wordings;
    std::map<Scope, std::set<int>> processes;
    for (int process = 0; process < kProcesses; process++) {
        for (std::uint64_t number = 0; number < kNumbers; number++) {
            for (const Posed &request : script.step(process, 0, number).requests) {
                contents[request.scope].insert(content_of(request));
                wordings[request.scope.key + content_of(request)].insert(request.details);
                processes[request.scope].insert(process);
            }
        }
    }
    std::size_t changed = 0;
    std::size_t reworded = 0;
    std::size_t shared = 0;
    for (const auto &[scope, of_scope] : contents) {
        changed += of_scope.size() > 1 ? 1 : 0;
    }
    for (const auto &[content, details] : wordings) {
        reworded += details.size() > 1 ? 1 : 0;
    }
    for (const auto &[scope, of_scope] : processes) {
        shared += of_scope.size() > 1 ? 1 : 0;
    }
    EXPECT_GT(changed, contents.size() / 10);
    EXPECT_GT(reworded, contents.size() / 20);
    EXPECT_GT(shared, contents.size() / 2) << "twins";
}

TEST(Script, LetsTwoKeysAskForOneOrder)
{
    const Script script(1, "t", 0);
    const Posed first = script.request(8);
    const Posed second = script.request(9);
    ASSERT_TRUE(first.order_ref);
    EXPECT_EQ(first.order_ref, second.order_ref);
    EXPECT_EQ(first.scope.tenant_id, second.scope.tenant_id);
    EXPECT_EQ(first.scope.operation, second.scope.operation);
    EXPECT_NE(first.scope.key, second.scope.key);
}

TEST(Script, KeepsToItsNumberOfKeys)
{
    std::set<Scope> scopes;
    for (const Step &step : all_steps(Script(1, "t", 16))) {
        for (const Posed &request : step.requests) {
            scopes.insert(request.scope);
        }
    }
    EXPECT_EQ(scopes.size(), 16U);
}

} // namespace
} // namespace idem::verify
