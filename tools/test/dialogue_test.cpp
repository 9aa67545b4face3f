#include "proxy/dialogue.hpp"

#include "messages.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace idem::proxy {

namespace {

using test::bind;
using test::complete;
using test::execute;
using test::parse;
using test::query;
using test::ready;
using test::sync;

// A dialogue that notes the points that the client's messages are at.
class Heard {
public:
    // Opens a session, as every dialogue begins.
    static Heard session()
    {
        Heard heard;
        EXPECT_EQ(heard.client(test::startup()), std::vector{Point::connect});
        heard.server(test::message('R', std::string(4, '\0')) + ready('I'));
        return heard;
    }

    // The points in what the client says now.
    std::vector<Point> client(const std::string &octets)
    {
        std::vector<Point> points;
        dialogue_.client().feed(octets);
        while (const auto part = dialogue_.client().next()) {
            if (const auto passage = part->message ? dialogue_.sent(*part->message) : std::nullopt) {
                points.push_back(passage->point);
                last_ = passage;
            }
        }
        return points;
    }

    void server(const std::string &octets)
    {
        dialogue_.server().feed(octets);
        while (const auto part = dialogue_.server().next()) {
            if (part->message) {
                dialogue_.answered(*part->message);
            } else {
                opaque_ += part->octets;
            }
        }
    }

    // A statement of the extended protocol, as most drivers send one, without Sync.
    static std::string call(const std::string &statement)
    {
        return parse("", statement) + bind("", "") + test::message('D', test::text("P")) + execute("");
    }

    // Whether the answer to the last point has begun, with the server's next message.
    [[nodiscard]] bool answer_begins() const { return last_ && dialogue_.position().reaches(last_->answer); }

    [[nodiscard]] const std::string &opaque() const { return opaque_; }

private:
    Dialogue dialogue_;
    std::optional<Passage> last_;
    std::string opaque_;
};

using Found = std::vector<Point>;

} // namespace

TEST(Dialogue, FindsTheCommitOfABlock)
{
    Heard heard = Heard::session();
    EXPECT_EQ(heard.client(query("BEGIN")), Found{Point::begin});
    heard.server(complete("BEGIN") + ready('T'));
    EXPECT_EQ(heard.client(query("SELECT 1")), Found{Point::statement});
    heard.server(complete("SELECT 1") + ready('T'));
    EXPECT_EQ(heard.client(query("SAVEPOINT a")), Found{Point::statement});
    heard.server(complete("SAVEPOINT") + ready('T'));
    EXPECT_EQ(heard.client(query("commit ;")), Found{Point::commit});
}

TEST(Dialogue, TakesStatementsOutsideOfABlockForCommits)
{
    Heard heard = Heard::session();
    EXPECT_EQ(heard.client(query("INSERT INTO t VALUES (1)")), Found{Point::autocommit});
    heard.server(complete("INSERT 0 1") + ready('I'));
    EXPECT_EQ(heard.client(query("SET x = 1")), Found{Point::statement});
    heard.server(complete("SET") + ready('I'));
    EXPECT_EQ(heard.client(query("")), Found{});
    heard.server(test::message('I', {}) + ready('I'));
    EXPECT_EQ(heard.client(test::message('F', std::string(12, '\0'))), Found{Point::autocommit});
}

TEST(Dialogue, FollowsTheServersStatus)
{
    Heard heard = Heard::session();
    // A function that the server runs for the client may begin or end nothing; only the status tells for sure.
    EXPECT_EQ(heard.client(query("BEGIN")), Found{Point::begin});
    heard.server(test::message('E', test::text("C57014") + '\0') + ready('I'));
    EXPECT_EQ(heard.client(query("SELECT 1")), Found{Point::autocommit});
    heard.server(complete("SELECT 1") + ready('T'));
    EXPECT_EQ(heard.client(query("SELECT 1")), Found{Point::statement});
    heard.server(test::message('E', test::text("C22012") + '\0') + ready('E'));
    EXPECT_EQ(heard.client(query("COMMIT")), Found{Point::commit});
    heard.server(complete("ROLLBACK") + ready('I'));
    EXPECT_EQ(heard.client(query("ROLLBACK")), Found{Point::rollback});
}

TEST(Dialogue, ReadsSeveralStatementsOfOneQuery)
{
    Heard heard = Heard::session();
    EXPECT_EQ(heard.client(query("BEGIN; SELECT 1; COMMIT")), Found{Point::commit});
    EXPECT_EQ(heard.client(query("BEGIN; SELECT 1; ROLLBACK")), Found{Point::rollback});
    EXPECT_EQ(heard.client(query("SELECT 1; SELECT 2")), Found{Point::autocommit});
    EXPECT_EQ(heard.client(query("BEGIN; SELECT 1")), Found{Point::statement});
    EXPECT_EQ(heard.client(query("COMMIT")), Found{Point::commit});
    EXPECT_EQ(heard.client(query("SELECT 1; BEGIN")), Found{Point::statement});
}

TEST(Dialogue, FollowsTheExtendedProtocol)
{
    Heard heard = Heard::session();
    EXPECT_EQ(heard.client(Heard::call("BEGIN") + sync()), Found{Point::begin});
    heard.server(complete("BEGIN") + ready('T'));
    EXPECT_EQ(heard.client(Heard::call("SELECT 1") + sync()), Found{Point::statement});
    heard.server(complete("SELECT 1") + ready('T'));
    EXPECT_EQ(heard.client(Heard::call("COMMIT") + sync()), Found{Point::commit});
    heard.server(complete("COMMIT") + ready('I'));
    EXPECT_EQ(heard.client(Heard::call("SELECT 1") + sync()), (Found{Point::statement, Point::autocommit}));
    EXPECT_EQ(heard.client(Heard::call("SET x = 1") + sync()), Found{Point::statement});
    EXPECT_EQ(heard.client(Heard::call("") + sync()), Found{});
}

TEST(Dialogue, RemembersPreparedStatements)
{
    Heard heard = Heard::session();
    EXPECT_EQ(heard.client(parse("c", "COMMIT") + parse("s", "SELECT 1") + parse("b", "BEGIN") + sync()), Found{});
    EXPECT_EQ(heard.client(bind("p", "b") + execute("p") + bind("", "s") + execute("") + execute("")),
              (Found{Point::begin, Point::statement, Point::statement}));
    EXPECT_EQ(heard.client(bind("p", "c") + execute("p") + sync()), Found{Point::commit});
    EXPECT_EQ(heard.client(test::message('C', "P" + test::text("p")) + execute("p") + sync()), Found{});
    EXPECT_EQ(heard.client(test::message('C', "S" + test::text("c")) + bind("", "c") + execute("") + sync()), Found{});
    EXPECT_EQ(heard.client(parse("s", "COMMIT") + bind("", "s") + execute("")), Found{Point::commit});
}

TEST(Dialogue, FollowsAPipeline)
{
    Heard heard = Heard::session();
    // No answer has come in between.
    EXPECT_EQ(heard.client(Heard::call("BEGIN") + Heard::call("SELECT 1") + Heard::call("COMMIT") + sync()),
              (Found{Point::begin, Point::statement, Point::commit}));
    EXPECT_EQ(heard.client(Heard::call("SELECT 1") + sync()), (Found{Point::statement, Point::autocommit}));
    EXPECT_EQ(heard.client(Heard::call("BEGIN") + sync() + Heard::call("SELECT 1") + sync()),
              (Found{Point::begin, Point::statement}));
    // The answers to the first group must not end the block that the third one has begun.
    heard.server(complete("BEGIN") + complete("SELECT 1") + complete("COMMIT") + ready('I'));
    EXPECT_EQ(heard.client(Heard::call("SELECT 1") + sync()), Found{Point::statement});
}

TEST(Dialogue, AStatusDoesNotUndoWhatWasSentAfterwards)
{
    Heard heard = Heard::session();
    EXPECT_EQ(heard.client(query("SELECT 1")), Found{Point::autocommit});
    EXPECT_EQ(heard.client(Heard::call("BEGIN")), Found{Point::begin});
    heard.server(complete("SELECT 1") + ready('I'));
    EXPECT_EQ(heard.client(Heard::call("SELECT 1") + sync()), Found{Point::statement});
}

TEST(Dialogue, KnowsWhereTheAnswerBegins)
{
    Heard heard = Heard::session();
    heard.client(query("BEGIN") + query("SELECT 1") + query("COMMIT"));
    EXPECT_FALSE(heard.answer_begins());
    heard.server(complete("BEGIN") + ready('T'));
    EXPECT_FALSE(heard.answer_begins());
    heard.server(complete("SELECT 1") + ready('T'));
    EXPECT_TRUE(heard.answer_begins());
    heard.server(complete("COMMIT") + ready('I'));

    heard.client(Heard::call("BEGIN") + Heard::call("SELECT 1") + Heard::call("COMMIT"));
    heard.server(complete("BEGIN"));
    EXPECT_FALSE(heard.answer_begins());
    heard.server(complete("SELECT 1"));
    EXPECT_TRUE(heard.answer_begins());
    heard.client(sync());
    heard.server(complete("COMMIT") + ready('I'));

    // What Sync commits are all statements of its group.
    heard.client(Heard::call("SELECT 1") + Heard::call("SELECT 2") + sync());
    EXPECT_TRUE(heard.answer_begins());
}

TEST(Dialogue, AnErrorIsTheLastAnswerOfItsGroup)
{
    Heard heard = Heard::session();
    heard.client(Heard::call("BEGIN") + Heard::call("SELECT 1/0") + Heard::call("COMMIT"));
    heard.server(complete("BEGIN"));
    EXPECT_FALSE(heard.answer_begins());
    heard.server(test::message('E', test::text("C22012") + '\0'));
    EXPECT_TRUE(heard.answer_begins());
}

TEST(Dialogue, GoesOnInPlainTextWhereTheServerSaysSo)
{
    for (const std::uint32_t request : {test::kTlsRequest, test::kGssRequest}) {
        Heard heard;
        EXPECT_EQ(heard.client(test::opening(request)), Found{});
        heard.server("N");
        EXPECT_EQ(heard.client(test::startup()), Found{Point::connect});
        heard.server(ready('I'));
        EXPECT_EQ(heard.client(query("SELECT 1")), Found{Point::autocommit});
        EXPECT_EQ(heard.opaque(), "");
    }
}

TEST(Dialogue, LooksIntoNothingThatIsEncrypted)
{
    Heard heard;
    EXPECT_EQ(heard.client(test::opening(test::kGssRequest)), Found{});
    heard.server("N");
    EXPECT_EQ(heard.client(test::opening(test::kTlsRequest)), Found{});
    heard.server("S");
    EXPECT_EQ(heard.client(test::startup() + query("COMMIT")), Found{});
    heard.server(ready('I'));
    EXPECT_EQ(heard.opaque(), ready('I'));
}

TEST(Dialogue, KnowsACancel)
{
    Heard heard;
    EXPECT_EQ(heard.client(test::opening(test::kCancelRequest, std::string(8, 'k'))), Found{Point::cancel});
}

TEST(Dialogue, StandsMalformedMessages)
{
    Heard heard = Heard::session();
    for (const char type : {'Q', 'P', 'B', 'C', 'E', 'D', 'S', 'F'}) {
        for (const std::string &body : {std::string(), std::string("x"), std::string(1, '\0'), std::string("S")}) {
            heard.client(test::message(type, body));
        }
    }
    for (const char type : {'Z', 'C', 'E', 'R'}) {
        heard.server(test::message(type, {}));
    }
    EXPECT_EQ(heard.client(query("COMMIT")), Found{Point::commit});
}

} // namespace idem::proxy
