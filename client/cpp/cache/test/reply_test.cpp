#include "reply.h"

#include "failure.h"

#include <gtest/gtest.h>

#include <string>

using namespace std::literals;
using idem::cache::Failure;
using idem::cache::Reply;
using idem::cache::ReplyReader;
using idem::cache::write_command;

TEST(Command, HoldsAnyOctet)
{
    EXPECT_EQ(write_command({"GET", "a\r\n\0b"sv, ""}), "*3\r\n$3\r\nGET\r\n$5\r\na\r\n\0b\r\n$0\r\n\r\n"s);
}

TEST(ReplyReader, TakesAReplyInAnyPieces)
{
    const auto octets = "$5\r\na\r\n\0b\r\n"s;
    ReplyReader reader(100);
    for (std::size_t i = 0; i + 1 < octets.size(); ++i) {
        EXPECT_FALSE(reader.feed({octets.data() + i, 1}));
    }
    EXPECT_TRUE(reader.feed({octets.data() + octets.size() - 1, 1}));
    const Reply reply = reader.take();
    EXPECT_EQ(reply.kind, Reply::Kind::text);
    EXPECT_EQ(reply.text, "a\r\n\0b"s);
}

TEST(ReplyReader, TellsRepliesApart)
{
    const auto kind_of = [](std::string_view octets) {
        ReplyReader reader(100);
        EXPECT_TRUE(reader.feed(octets));
        return reader.take().kind;
    };
    EXPECT_EQ(kind_of("$-1\r\n"), Reply::Kind::nothing);
    EXPECT_EQ(kind_of("$0\r\n\r\n"), Reply::Kind::text);
    EXPECT_EQ(kind_of("+OK\r\n"), Reply::Kind::status);
    EXPECT_EQ(kind_of("-ERR no\r\n"), Reply::Kind::error);
    EXPECT_EQ(kind_of(":7\r\n"), Reply::Kind::other);
}

TEST(ReplyReader, RefusesMoreThanItsLimit)
{
    ReplyReader reader(20);
    EXPECT_FALSE(reader.feed("$100\r\n1234567890"));
    EXPECT_THROW(reader.feed("12345"), Failure);
}

TEST(ReplyReader, RefusesListsAndWhatFollowsAReply)
{
    EXPECT_THROW(ReplyReader(100).feed("*1\r\n+OK\r\n"), Failure);
    EXPECT_THROW(ReplyReader(100).feed("+OK\r\n+"), Failure);
    EXPECT_THROW(ReplyReader(100).feed("OK\r\n"), Failure);
}

TEST(Reply, ShowsOfAnErrorItsCodeOnly)
{
    const auto code_of = [](std::string text) { return Reply{Reply::Kind::error, std::move(text)}.error_code(); };
    EXPECT_EQ(code_of("WRONGTYPE Operation against a key"), "WRONGTYPE");
    EXPECT_EQ(code_of("ERR unknown command `GET`, with args beginning with: `idem:{acme"), "ERR");
    EXPECT_EQ(code_of("acme"), "an error");
    EXPECT_EQ(code_of(""), "an error");
    EXPECT_EQ(code_of(std::string(33, 'A')), "an error");
}
