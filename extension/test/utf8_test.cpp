#include "utf8.h"

#include <gtest/gtest.h>

namespace idem::core::test {
namespace {

TEST(Utf8, TakesEveryCharacter)
{
    EXPECT_TRUE(is_utf8(""));
    EXPECT_TRUE(is_utf8("plain"));
    EXPECT_TRUE(is_utf8("\u0080\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff end"));
    EXPECT_TRUE(is_utf8(std::string_view("a\0b", 3)));
}

TEST(Utf8, RefusesWhatPostgresqlRefuses)
{
    for (const char *text :
         {"\x80", "\xBF", "a\xC3", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xED\xBF\xBF", "\xE2\x82",
          "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xF0\x9F\x98", "\xFE", "\xFF", "ok \xC3\x28"}) {
        EXPECT_FALSE(is_utf8(text)) << text;
    }
}

} // namespace
} // namespace idem::core::test
