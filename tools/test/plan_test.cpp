#include "proxy/plan.hpp"

#include "proxy/options.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace idem::proxy {

namespace {

using Drawn = std::vector<std::optional<Fault>>;

Plan by_chance(std::uint64_t seed, double rate)
{
    return {seed, rate, all_faults()};
}

// What strikes at so many points, one after the other.
Drawn draw(Plan &plan, Point point, int count)
{
    Drawn drawn;
    for (int i = 0; i < count; ++i) {
        const auto decision = plan.decide(point);
        drawn.push_back(decision ? std::optional(decision->fault) : std::nullopt);
    }
    return drawn;
}

} // namespace

TEST(Plan, NothingStrikesUnasked)
{
    Plan plan = by_chance(1, 0);
    EXPECT_EQ(draw(plan, Point::commit, 1000), Drawn(1000));
}

TEST(Plan, TheSeedRepeatsWhatStrikes)
{
    Plan first = by_chance(7, 0.3);
    Plan same = by_chance(7, 0.3);
    Plan other = by_chance(8, 0.3);
    const Drawn drawn = draw(first, Point::commit, 300);
    EXPECT_EQ(draw(same, Point::commit, 300), drawn);
    EXPECT_NE(draw(other, Point::commit, 300), drawn);
}

TEST(Plan, TheNthCommitMeetsTheSameWhateverIsBetween)
{
    Plan alone = by_chance(7, 0.3);
    const Drawn drawn = draw(alone, Point::commit, 100);
    Plan mixed = by_chance(7, 0.3);
    for (std::size_t i = 0; i < drawn.size(); ++i) {
        draw(mixed, Point::connect, static_cast<int>(i % 3));
        draw(mixed, Point::statement, static_cast<int>(i % 5));
        const auto decision = mixed.decide(i % 2 == 0 ? Point::commit : Point::autocommit);
        EXPECT_EQ(decision ? std::optional(decision->fault) : std::nullopt, drawn[i]) << i;
        if (decision) {
            EXPECT_EQ(decision->number, i + 1);
        }
    }
}

TEST(Plan, StrikesAtTheGivenShare)
{
    Plan plan = by_chance(3, 0.25);
    int struck = 0;
    for (const auto &fault : draw(plan, Point::statement, 10'000)) {
        struck += fault ? 1 : 0;
    }
    EXPECT_NEAR(struck, 2500, 150);
    Plan always = by_chance(3, 1);
    for (const auto &fault : draw(always, Point::connect, 100)) {
        EXPECT_TRUE(fault);
    }
}

TEST(Plan, EveryFaultStrikesWhereItBelongs)
{
    for (const Point point : {Point::connect, Point::begin, Point::statement, Point::commit, Point::autocommit}) {
        Plan plan = by_chance(5, 1);
        std::map<Fault, int> counts;
        for (const auto &fault : draw(plan, point, 2000)) {
            ASSERT_TRUE(fault);
            ++counts[*fault];
        }
        for (const Fault fault : all_faults()) {
            EXPECT_EQ(counts.contains(fault), usual_points(fault).has(point)) << name_of(fault) << name_of(point);
        }
    }
}

TEST(Plan, ANameThatIsThereTwiceIsTwiceAsLikely)
{
    Plan plan(5, 1, {Fault::delay, Fault::delay, Fault::half_open});
    int delays = 0;
    for (const auto &fault : draw(plan, Point::commit, 3000)) {
        delays += fault == Fault::delay ? 1 : 0;
    }
    EXPECT_NEAR(delays, 2000, 100);
}

TEST(Plan, ServesWhatIsAskedForInOrder)
{
    Plan plan = by_chance(1, 0);
    plan.arm({Fault::cut_statement, {Point::statement}, std::nullopt});
    plan.arm({Fault::cut_before_commit, {Point::commit}, std::nullopt});
    plan.arm({Fault::delay, {Point::commit}, 5});
    EXPECT_EQ(draw(plan, Point::connect, 1), Drawn{std::nullopt});
    EXPECT_EQ(draw(plan, Point::commit, 1), Drawn{Fault::cut_before_commit});
    const auto delay = plan.decide(Point::commit);
    ASSERT_TRUE(delay);
    EXPECT_EQ(delay->amount, 5U);
    EXPECT_EQ(draw(plan, Point::commit, 1), Drawn{std::nullopt});
    EXPECT_EQ(draw(plan, Point::statement, 2), (Drawn{Fault::cut_statement, std::nullopt}));
}

TEST(Plan, KeepsAFaultUntilItIsCleared)
{
    Plan plan = by_chance(1, 0);
    plan.keep({Fault::half_open, {Point::commit}, std::nullopt});
    plan.arm({Fault::delay, {Point::commit}, std::nullopt});
    EXPECT_EQ(draw(plan, Point::commit, 3), (Drawn{Fault::delay, Fault::half_open, Fault::half_open}));
    EXPECT_EQ(draw(plan, Point::autocommit, 1), Drawn{std::nullopt});
    plan.arm({Fault::delay, {Point::commit}, std::nullopt});
    plan.clear();
    EXPECT_EQ(draw(plan, Point::commit, 2), Drawn(2));
}

TEST(Plan, WhatIsAskedForDoesNotChangeWhatChanceBrings)
{
    Plan plain = by_chance(7, 0.3);
    const Drawn drawn = draw(plain, Point::commit, 50);
    Plan asked = by_chance(7, 0.3);
    asked.arm({Fault::delay, {Point::commit}, std::nullopt});
    Drawn expected = drawn;
    expected.front() = Fault::delay;
    EXPECT_EQ(draw(asked, Point::commit, 50), expected);
}

TEST(Fault, NamesLeadBack)
{
    for (const Fault fault : all_faults()) {
        EXPECT_EQ(fault_named(name_of(fault)), fault);
    }
    EXPECT_FALSE(fault_named("cut"));
    for (const Point point : {Point::connect, Point::cancel, Point::begin, Point::statement, Point::rollback,
                              Point::commit, Point::autocommit}) {
        EXPECT_EQ(point_named(name_of(point)), point);
    }
    EXPECT_FALSE(point_named("control"));
}

TEST(Options, AreRead)
{
    const Options options =
        parse_options({"--seed", "18446744073709551615", "127.0.0.1", "--fault-rate", "0.5", "5432", "--faults",
                       "delay,cut_connect,delay", "--round-trip-us", "500", "--delay-ms", "9", "--linger-ms", "8"});
    EXPECT_EQ(options.host, "127.0.0.1");
    EXPECT_EQ(options.port, "5432");
    EXPECT_EQ(options.seed, UINT64_MAX);
    EXPECT_EQ(options.rate, 0.5);
    EXPECT_EQ(options.faults, (std::vector{Fault::delay, Fault::cut_connect, Fault::delay}));
    EXPECT_EQ(options.round_trip, std::chrono::microseconds(500));
    EXPECT_EQ(options.longest_delay, std::chrono::milliseconds(9));
    EXPECT_EQ(options.linger, std::chrono::milliseconds(8));
    EXPECT_EQ(options.control, -1);
    EXPECT_EQ(parse_options({"h", "1", "--control"}).control, 0);
}

TEST(Options, AreRefusedWhereTheyMeanNothing)
{
    const std::vector<std::vector<std::string>> refused{
        {},
        {"h"},
        {"h", "1", "2"},
        {"h", "1", "--seed"},
        {"h", "1", "--seed", "x"},
        {"h", "1", "--seed", "-1"},
        {"h", "1", "--fault-rate", "nan"},
        {"h", "1", "--fault-rate", "-0.5"},
        {"h", "1", "--fault-rate", "0.5x"},
        {"h", "1", "--faults", ""},
        {"h", "1", "--faults", "delay,"},
        {"h", "1", "--faults", "cut"},
        {"h", "1", "--round-trip-us", "99999999999999"},
        {"h", "1", "--no-such", "1"},
    };
    for (const auto &arguments : refused) {
        EXPECT_THROW(parse_options(arguments), std::invalid_argument);
    }
}

} // namespace idem::proxy
