#include "play.hpp"

#include <gtest/gtest.h>

namespace idem::verify {
namespace {

using Properties = std::vector<Property>;

const Posed kPay = Play::request("k");
const Posed kOther = Play::request("other");

// A play in which all goes well, faults included.
Play good()
{
    Play play;
    play.send(kPay, Kind::once).fail("08006", true);
    play.send(kPay, Kind::once).again().replayed("1", 2);
    play.send(kPay, Kind::once).replayed("1");
    play.send(Play::changed("k"), Kind::once).fail("ID001");
    play.send(kOther).created("2");
    play.send(Play::changed("other"), Kind::attempt).conflict();
    return play.row(kPay, "1").posting(kPay, "1").row(kOther, "2");
}

TEST(Checker, FindsNothingInAPlayThatIsRight)
{
    EXPECT_EQ(good().violated(), Properties{});
}

TEST(Checker, FindsNothingInNothing)
{
    EXPECT_EQ(Play().violated(), Properties{});
}

TEST(Checker, MissesALostRow)
{
    EXPECT_EQ(Play().send(kPay).created("1").violated(), Properties{Property::nothing_lost});
}

TEST(Checker, MissesALostRowThatWasOnlyReplayed)
{
    EXPECT_EQ(Play().send(kPay).fail("08006", true).send(kPay).again().replayed("1").violated(),
              Properties{Property::nothing_lost});
}

TEST(Checker, SeesAnAcknowledgedIdThatIsNotStored)
{
    EXPECT_EQ(Play().send(kPay).created("1").row(kPay, "2").violated(), Properties{Property::acknowledged_stored});
}

TEST(Checker, SeesTwoRowsOfAScope)
{
    EXPECT_EQ(Play().send(kPay).created("1").row(kPay, "1").row(kPay, "2").violated(), Properties{Property::one_row});
}

TEST(Checker, SeesTwoIdsInTheAnswers)
{
    const Play play = Play().send(kPay).created("1").send(kPay).replayed("2").row(kPay, "1");
    EXPECT_EQ(play.violated(), (Properties{Property::acknowledged_stored, Property::one_id}));
}

TEST(Checker, SeesTwoCreators)
{
    EXPECT_EQ(Play().send(kPay).created("1").send(kPay).created("1").row(kPay, "1").violated(),
              Properties{Property::created_once});
}

TEST(Checker, SeesAReplayOfNothing)
{
    EXPECT_EQ(Play().send(kPay).replayed("1").row(kPay, "1").violated(), Properties{Property::replay_has_origin});
}

TEST(Checker, SeesAReplayOfWhatWasSentLater)
{
    EXPECT_EQ(Play().send(kPay).replayed("1").send(kPay).created("1").row(kPay, "1").violated(),
              Properties{Property::replay_has_origin});
}

TEST(Checker, SeesAReplayOfOtherContent)
{
    EXPECT_EQ(Play().send(Play::changed("k")).send(kPay).again().replayed("1").row(kPay, "1").violated(),
              Properties{Property::replay_has_origin});
}

TEST(Checker, LetsACallReplayItsOwnFirstAttempt)
{
    EXPECT_EQ(Play().send(kPay).replayed("1", 2).row(kPay, "1").violated(), Properties{});
}

TEST(Checker, LetsABatchReplayItself)
{
    const Play play = Play()
                          .send_all({kPay, kPay}, Kind::batch)
                          .answer({{Outcome::created, "1"}, {Outcome::replayed, "1"}})
                          .row(kPay, "1");
    EXPECT_EQ(play.violated(), Properties{});
}

TEST(Checker, SeesAConflictOfTheVeryContent)
{
    EXPECT_EQ(Play().send(kPay).created("1").send(kPay).fail("ID001").row(kPay, "1").violated(),
              Properties{Property::conflict_only_changed});
}

TEST(Checker, SeesAConflictWithNothing)
{
    EXPECT_EQ(Play().send(kPay).conflict().violated(), Properties{Property::conflict_only_changed});
}

TEST(Checker, SeesAConflictWithinABatch)
{
    const Play play = Play()
                          .send_all({kOther, kPay}, Kind::batch)
                          .answer({{Outcome::created, "2"}, {Outcome::conflict}})
                          .row(kOther, "2");
    EXPECT_EQ(play.violated(), Properties{Property::conflict_only_changed});
}

TEST(Checker, SeesAChangedRequestThatIsAcknowledged)
{
    EXPECT_EQ(Play().send(kPay).created("1").send(Play::changed("k")).replayed("1", 2).row(kPay, "1").violated(),
              Properties{Property::changed_never_acknowledged});
}

TEST(Checker, ComparesEachPartOfTheContent)
{
    std::vector<Posed> others(4, kPay);
    others[0].amount_minor++;
    others[1].currency = "USD";
    others[2].details = R"({"a": 1, "b": [3]})";
    others[3].order_ref = "o";
    for (const Posed &other : others) {
        EXPECT_EQ(Play().send(kPay).created("1").row(other, "1").violated(),
                  (Properties{Property::changed_never_acknowledged, Property::stored_was_sent}));
    }
}

TEST(Checker, ComparesDetailsAsJson)
{
    Posed reworded = kPay;
    reworded.details = "{ \"b\":[2],\n\"a\": 1}";
    EXPECT_EQ(Play().send(kPay).created("1").send(reworded).replayed("1").row(kPay, "1").violated(), Properties{});
}

TEST(Checker, SeesContentThatNobodySent)
{
    EXPECT_EQ(
        Play().send(kPay).row(Play::changed("k"), "1").fail("08006", true).send(kPay).again().conflict().violated(),
        Properties{Property::stored_was_sent});
}

TEST(Checker, SeesARowThatNobodySent)
{
    EXPECT_EQ(good().row(Play::request("third"), "3").violated(), Properties{Property::nothing_unsent});
}

TEST(Checker, SeesTheRowOfAFailure)
{
    EXPECT_EQ(Play().send(kPay).fail("application").row(kPay, "1").violated(), Properties{Property::sure_failure});
}

TEST(Checker, SeesTheRowOfAnotherOnesFailure)
{
    // The content that is stored comes from a call that failed for sure.
    const Play play = Play().send(kPay).fail("application").send(Play::changed("k")).conflict().row(kPay, "1");
    EXPECT_EQ(play.violated(), Properties{Property::sure_failure});
}

TEST(Checker, SeesTwoBusinessRows)
{
    EXPECT_EQ(good().posting(kPay, "1").violated(), Properties{Property::posted_once});
}

TEST(Checker, MissesABusinessRow)
{
    EXPECT_EQ(Play().send(kPay, Kind::once).created("1").row(kPay, "1").violated(), Properties{Property::posted_once});
}

TEST(Checker, SeesABusinessRowOfOtherContent)
{
    Posed other = kPay;
    other.amount_minor++;
    EXPECT_EQ(Play().send(kPay, Kind::once).created("1").row(kPay, "1").posting(other, "1").violated(),
              Properties{Property::posted_once});
}

TEST(Checker, SeesABusinessRowWithoutTransaction)
{
    EXPECT_EQ(Play().send(kPay, Kind::once).fail("application").posting(kPay, "1").violated(),
              Properties{Property::posted_nothing_else});
}

TEST(Checker, SeesTheBusinessRowOfALostTransaction)
{
    EXPECT_EQ(good().posting(kPay, "0").violated(), Properties{Property::posted_nothing_else});
}

TEST(Checker, SeesABusinessRowThatNoActionWrote)
{
    EXPECT_EQ(good().posting(kOther, "2").violated(), Properties{Property::posted_nothing_else});
}

TEST(Checker, SeesTwoTransactionsOfAnOrder)
{
    const Posed first = Play::request("a", "o");
    const Posed second = Play::request("b", "o");
    const Play play = Play().send(first).created("1").send(second).fail("08006", true).send(second).again().conflict();
    EXPECT_EQ(Play(play).row(first, "1").row(second, "2").violated(),
              (Properties{Property::conflict_only_changed, Property::one_per_order}));
}

TEST(Checker, SeesAnOrderThatTwoKeysWereGiven)
{
    const Posed first = Play::request("a", "o");
    const Posed second = Play::request("b", "o");
    EXPECT_EQ(Play().send(first).created("1").send(second).created("2").row(first, "1").violated(),
              (Properties{Property::nothing_lost, Property::one_per_order}));
}

TEST(Checker, LetsAnOrderBeTaken)
{
    const Posed first = Play::request("a", "o");
    const Posed second = Play::request("b", "o");
    const Play play = Play().send(first).created("1").send(second).order_taken().send(second).fail("ID003");
    EXPECT_EQ(Play(play).row(first, "1").violated(), Properties{});
}

TEST(Checker, SeesAnOrderThatNobodyHasTaken)
{
    const Posed first = Play::request("a", "o");
    EXPECT_EQ(Play().send(first).order_taken().violated(), Properties{Property::order_taken_is_true});
    EXPECT_EQ(Play().send(kPay).fail("ID003").violated(), Properties{Property::order_taken_is_true});
    EXPECT_EQ(Play().send(first).created("1").send(first).order_taken().row(first, "1").violated(),
              Properties{Property::order_taken_is_true});
}

TEST(Checker, SeesAnErrorThatNoFaultExplains)
{
    for (const char *sqlstate : {"23505", "XX000", "42P01", "25P02", "08P01", "22023"}) {
        EXPECT_EQ(Play().send(kPay).fail(sqlstate).send(kPay).again().created("1").row(kPay, "1").violated(),
                  Properties{Property::errors_explained})
            << sqlstate;
    }
}

TEST(Checker, SeesARequestThatIsCalledInvalid)
{
    EXPECT_EQ(Play().send_all({kPay}, Kind::batch).answer({{Outcome::invalid}}).violated(),
              Properties{Property::errors_explained});
}

TEST(Checker, SeesACallWithoutAnAnswer)
{
    EXPECT_EQ(Play().send(kPay).violated(), Properties{Property::all_answered});
    EXPECT_EQ(Play().send(kPay).fail("08006", true).violated(), Properties{Property::all_answered});
    EXPECT_EQ(Play().send(kPay).fail("57014").violated(), Properties{Property::all_answered});
}

TEST(Checker, NamesTheLinesThatShowIt)
{
    const auto violations = Play().send(kOther).created("2").send(kPay).created("1").row(kOther, "2").verdict();
    ASSERT_EQ(violations.size(), 1U);
    ASSERT_EQ(violations[0].sources.size(), 1U);
    EXPECT_EQ(violations[0].sources[0].line, 4);
    EXPECT_NE(violations[0].text.find("t pay k"), std::string::npos);
}

} // namespace
} // namespace idem::verify
