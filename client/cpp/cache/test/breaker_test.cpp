#include "breaker.h"

#include <gtest/gtest.h>

#include <utility>

using idem::cache::Breaker;
using std::chrono::milliseconds;

namespace {

// Some moment; the tests say how much later things happen.
Breaker::Clock::time_point at(int ms)
{
    return Breaker::Clock::time_point(std::chrono::hours(1)) + milliseconds(ms);
}

} // namespace

TEST(Breaker, LetsEverybodyThroughWhileAllIsWell)
{
    Breaker breaker(milliseconds(100), milliseconds(1000));
    auto first = breaker.ask(at(0));
    auto second = breaker.ask(at(0));
    ASSERT_TRUE(first && second);
    first->succeeded();
    second->succeeded();
    EXPECT_TRUE(breaker.ask(at(0)));
}

TEST(Breaker, KeepsEverybodyAwayForAPause)
{
    Breaker breaker(milliseconds(100), milliseconds(1000));
    breaker.ask(at(0))->failed(at(0));
    EXPECT_FALSE(breaker.ask(at(0)));
    EXPECT_FALSE(breaker.ask(at(99)));
    EXPECT_TRUE(breaker.ask(at(100)));
}

TEST(Breaker, LetsOneTryAfterThePause)
{
    Breaker breaker(milliseconds(100), milliseconds(1000));
    breaker.ask(at(0))->failed(at(0));
    auto one = breaker.ask(at(100));
    ASSERT_TRUE(one);
    EXPECT_FALSE(breaker.ask(at(100)));
    EXPECT_FALSE(breaker.ask(at(100'000)));
    one->succeeded();
    EXPECT_TRUE(breaker.ask(at(100)));
    EXPECT_TRUE(breaker.ask(at(100)));
}

TEST(Breaker, DoublesThePauseUpToTheLongest)
{
    Breaker breaker(milliseconds(100), milliseconds(500));
    int now = 0;
    for (const int pause : {100, 200, 400, 500, 500}) {
        auto one = breaker.ask(at(now));
        ASSERT_TRUE(one) << pause;
        one->failed(at(now));
        EXPECT_FALSE(breaker.ask(at(now + pause - 1))) << pause;
        now += pause;
    }
}

TEST(Breaker, BeginsAnewAfterASuccess)
{
    Breaker breaker(milliseconds(100), milliseconds(1000));
    breaker.ask(at(0))->failed(at(0));
    breaker.ask(at(100))->failed(at(100));
    breaker.ask(at(300))->succeeded();
    breaker.ask(at(400))->failed(at(400));
    EXPECT_FALSE(breaker.ask(at(499)));
    EXPECT_TRUE(breaker.ask(at(500)));
}

TEST(Breaker, TakesCallsThatFailTogetherForOneFailure)
{
    Breaker breaker(milliseconds(100), milliseconds(1000));
    auto first = breaker.ask(at(0));
    auto second = breaker.ask(at(0));
    auto third = breaker.ask(at(0));
    first->failed(at(50));
    EXPECT_FALSE(second->current());
    second->failed(at(60));
    third->succeeded(); // began before the failure, and says nothing about what came after it
    EXPECT_FALSE(breaker.ask(at(149)));
    EXPECT_TRUE(breaker.ask(at(150)));
}

TEST(Breaker, LetsTheNextTryWhereOneEndsWithoutAVerdict)
{
    Breaker breaker(milliseconds(100), milliseconds(1000));
    breaker.ask(at(0))->failed(at(0));
    {
        auto one = breaker.ask(at(100));
        ASSERT_TRUE(one);
        const auto moved = std::move(*one);
        EXPECT_FALSE(breaker.ask(at(100)));
    }
    EXPECT_TRUE(breaker.ask(at(100)));
}
