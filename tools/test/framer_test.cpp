#include "proxy/framer.hpp"

#include "messages.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace idem::proxy {

namespace {

using test::message;
using Phase = Framer::Phase;

// What a framer has made of octets: the messages, as type and body, and all octets that it has given back.
struct Seen {
    std::vector<std::string> messages;
    std::string octets;

    // Takes all parts that are there; the phase changes after what opens a session.
    void drain(Framer &framer)
    {
        while (const auto part = framer.next()) {
            octets += part->octets;
            if (part->message) {
                messages.push_back(part->message->type + std::string(part->message->body));
                if (part->message->type == '\0') {
                    framer.expect(Phase::messages);
                }
            }
        }
    }
};

const std::string kDialogue = test::startup() + test::query("BEGIN") +
                              message('d', std::string(Framer::kHead + 100, 'x')) + message('X', {}) +
                              message('Q', std::string(Framer::kHead, 'y'));

std::vector<std::string> expected_messages()
{
    return {std::string(1, '\0') + test::startup().substr(4), "Q" + test::text("BEGIN"),
            "d" + std::string(Framer::kHead, 'x'), "X", "Q" + std::string(Framer::kHead, 'y')};
}

} // namespace

TEST(Framer, CutsOctetsIntoMessages)
{
    Framer framer(Phase::opening);
    Seen seen;
    framer.feed(kDialogue);
    seen.drain(framer);
    EXPECT_EQ(seen.messages, expected_messages());
    EXPECT_EQ(seen.octets, kDialogue);
}

TEST(Framer, DoesNotDependOnWhereOctetsAreSplit)
{
    for (std::size_t split = 0; split <= kDialogue.size(); ++split) {
        Framer framer(Phase::opening);
        Seen seen;
        framer.feed(std::string_view(kDialogue).substr(0, split));
        seen.drain(framer);
        framer.feed(std::string_view(kDialogue).substr(split));
        seen.drain(framer);
        ASSERT_EQ(seen.messages, expected_messages()) << "split at " << split;
        ASSERT_EQ(seen.octets, kDialogue) << "split at " << split;
    }
}

TEST(Framer, TakesSingleOctets)
{
    Framer framer(Phase::opening);
    Seen seen;
    for (const char octet : kDialogue) {
        framer.feed(std::string_view(&octet, 1));
        seen.drain(framer);
    }
    EXPECT_EQ(seen.messages, expected_messages());
    EXPECT_EQ(seen.octets, kDialogue);
}

TEST(Framer, HoldsNoMoreThanTheHeadOfAHugeMessage)
{
    constexpr std::size_t kBody = (std::size_t{1} << 30U) - 1;
    const std::string start = 'd' + test::four_octets(kBody + 4);
    const std::string piece(65536, 'z');
    Framer framer(Phase::messages);
    framer.feed(start);
    EXPECT_FALSE(framer.next());
    std::size_t passed = 0;
    for (std::size_t fed = 0; fed < kBody; fed += std::min(piece.size(), kBody - fed)) {
        framer.feed(std::string_view(piece).substr(0, kBody - fed));
        const auto part = framer.next();
        ASSERT_TRUE(part);
        ASSERT_EQ(part->message.has_value(), fed == 0);
        if (part->message) {
            EXPECT_EQ(part->message->length, kBody);
            EXPECT_EQ(part->message->body.size(), Framer::kHead);
            passed += part->octets.size();
            const auto rest = framer.next();
            ASSERT_TRUE(rest);
            passed += rest->octets.size();
        } else {
            passed += part->octets.size();
        }
        ASSERT_FALSE(framer.next());
        ASSERT_TRUE(framer.held().empty());
    }
    EXPECT_EQ(passed, start.size() + kBody);
    framer.feed(test::query("SELECT 1"));
    const auto next = framer.next();
    ASSERT_TRUE(next && next->message);
    EXPECT_EQ(next->message->type, 'Q');
}

TEST(Framer, GivesBackWhatWasNotCompleted)
{
    const std::string whole = test::query("COMMIT");
    Framer framer(Phase::messages);
    framer.feed(std::string_view(whole).substr(0, whole.size() - 1));
    EXPECT_FALSE(framer.next());
    EXPECT_EQ(framer.held(), whole.substr(0, whole.size() - 1));
    EXPECT_TRUE(framer.held().empty());
}

TEST(Framer, PassesOnWhatIsNoMessage)
{
    // The beginning of a TLS handshake that nobody has asked for; lengths that cannot be.
    for (const std::string &octets : {std::string("\x16\x03\x01\x02\x00\x01\x00\x01", 8), test::four_octets(7) + "abc",
                                      test::four_octets(10'001) + "abcdefgh"}) {
        Framer framer(Phase::opening);
        framer.feed(octets);
        const auto part = framer.next();
        ASSERT_TRUE(part);
        EXPECT_FALSE(part->message);
        EXPECT_EQ(part->octets, octets);
        framer.feed("more");
        EXPECT_EQ(framer.next()->octets, "more");
    }
    Framer framer(Phase::messages);
    framer.feed('Q' + test::four_octets(3));
    EXPECT_FALSE(framer.next()->message);
}

TEST(Framer, TakesOneOctetAsAnswerToEncryption)
{
    for (const char answer : {'N', 'S', 'G'}) {
        Framer framer(Phase::encryption_answer);
        framer.feed(std::string(1, answer) + "rest");
        const auto part = framer.next();
        ASSERT_TRUE(part && part->message);
        EXPECT_EQ(part->message->type, answer);
        EXPECT_EQ(part->octets.size(), 1U);
    }
    // An old server does not know the request, and says so in a message.
    const std::string error = message('E', test::text("SFATAL") + '\0');
    Framer framer(Phase::encryption_answer);
    framer.feed(error);
    const auto part = framer.next();
    ASSERT_TRUE(part && part->message);
    EXPECT_EQ(part->octets, error);
}

} // namespace idem::proxy
