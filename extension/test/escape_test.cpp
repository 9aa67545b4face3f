#include "escape.h"

#include <gtest/gtest.h>

namespace idem::core::test {
namespace {

std::string escaped(std::string_view text, Escape escape)
{
    std::string out = "x";
    append_escaped(out, text, escape);
    return out;
}

TEST(Escape, AppendsAJsonString)
{
    for (const Escape escape : {Escape::unprintable, Escape::non_ascii}) {
        EXPECT_EQ(escaped("", escape), R"(x"")");
        EXPECT_EQ(escaped("k-1 ~", escape), R"(x"k-1 ~")");
        EXPECT_EQ(escaped("a\"b\\c", escape), R"(x"a\"b\\c")");
    }
}

TEST(Escape, EscapesWhatEndsALineOrMovesACursor)
{
    for (const Escape escape : {Escape::unprintable, Escape::non_ascii}) {
        EXPECT_EQ(escaped("\n\r\t\x1b", escape), R"(x"\n\r\t\u001b")");
        EXPECT_EQ(escaped("\x7f", escape), R"(x"\u007f")");
        EXPECT_EQ(escaped("\u0080\u0085\u009f", escape), R"(x"\u0080\u0085\u009f")");
        EXPECT_EQ(escaped("\u2028\u2029", escape), R"(x"\u2028\u2029")");
    }
}

TEST(Escape, LeavesOtherCharactersUnlessAsciiIsAskedFor)
{
    const std::string_view text = "\u00a0\u00e9\u2027\u202a\uffff\U0001F600\U0010FFFF";
    EXPECT_EQ(escaped(text, Escape::unprintable), "x\"" + std::string(text) + '"');
    EXPECT_EQ(escaped(text, Escape::non_ascii), R"(x"\u00a0\u00e9\u2027\u202a\uffff\ud83d\ude00\udbff\udfff")");
}

} // namespace
} // namespace idem::core::test
