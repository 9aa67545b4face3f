#include <idem/retry.hpp>

#include "backoff.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <vector>

namespace idem::client::test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

TEST(RetryTable, RepeatsWhatWasRolledBack)
{
    for (const char *sqlstate : {"40001", "40P01"}) {
        EXPECT_EQ(action_after(sqlstate), Action::repeat) << sqlstate;
    }
}

TEST(RetryTable, DoesNotKnowTheEndOfALostConnection)
{
    for (const char *sqlstate : {"08000", "08003", "08006", "08007", "57P01", "57P02", "57P05"}) {
        EXPECT_EQ(action_after(sqlstate), Action::unknown) << sqlstate;
    }
}

TEST(RetryTable, ReconnectsWhereAServerCannotWrite)
{
    for (const char *sqlstate : {"08001", "08004", "25006", "57P03", "53300"}) {
        EXPECT_EQ(action_after(sqlstate), Action::reconnect) << sqlstate;
    }
}

TEST(RetryTable, AsksAfterAWait)
{
    for (const char *sqlstate : {"55P03", "57014", "ID002"}) {
        EXPECT_EQ(action_after(sqlstate), Action::ask) << sqlstate;
    }
}

TEST(RetryTable, NeverRepeatsTheRest)
{
    for (const char *sqlstate :
         {"",      "00000", "08P01", "0A000", "22004", "22021", "22023", "22P02", "23502", "23505", "23514", "25P02",
          "28P01", "3D000", "40000", "42501", "42883", "42P01", "53100", "53200", "54000", "54001", "55000", "57P04",
          "58000", "ID001", "ID003", "ID004", "ID005", "ID006", "XX000", "XX001", "4000",  "400011"}) {
        EXPECT_EQ(action_after(sqlstate), Action::never) << sqlstate;
    }
}

TEST(Backoff, DoublesUpToTheLongestPause)
{
    const RetryPolicy policy{.first_pause = milliseconds(10), .longest_pause = milliseconds(100)};
    std::vector<milliseconds> pauses;
    for (int attempt = 1; attempt <= 6; ++attempt) {
        pauses.push_back(longest_pause_after(attempt, policy));
    }
    EXPECT_EQ(pauses, (std::vector<milliseconds>{milliseconds(10), milliseconds(20), milliseconds(40), milliseconds(80),
                                                 milliseconds(100), milliseconds(100)}));
}

TEST(Backoff, OverflowsNowhere)
{
    const auto longest = milliseconds::max();
    const RetryPolicy policy{.first_pause = milliseconds(10), .longest_pause = longest};
    EXPECT_EQ(longest_pause_after(std::numeric_limits<int>::max(), policy), longest);
    EXPECT_EQ(longest_pause_after(100000, {.first_pause = milliseconds(0)}), milliseconds(0));
    EXPECT_EQ(longest_pause_after(3, {.first_pause = -milliseconds(5), .longest_pause = -milliseconds(1)}),
              milliseconds(0));
    EXPECT_EQ(longest_pause_after(1, {.first_pause = milliseconds(10), .longest_pause = milliseconds(3)}),
              milliseconds(3));
    EXPECT_GE(random_pause(longest), milliseconds(0));
}

TEST(Backoff, PausesAreSpreadOverTheWholeRange)
{
    std::vector<microseconds> pauses(2000);
    std::generate(pauses.begin(), pauses.end(), [] { return random_pause(milliseconds(100)); });
    const auto [least, most] = std::minmax_element(pauses.begin(), pauses.end());
    EXPECT_GE(*least, milliseconds(0));
    EXPECT_LT(*least, milliseconds(5));
    EXPECT_GT(*most, milliseconds(95));
    EXPECT_LE(*most, milliseconds(100));
    const auto early =
        std::count_if(pauses.begin(), pauses.end(), [](microseconds pause) { return pause < milliseconds(50); });
    EXPECT_GT(early, 800);
    EXPECT_LT(early, 1200);
    EXPECT_EQ(random_pause(milliseconds(0)), milliseconds(0));
}

} // namespace
} // namespace idem::client::test
