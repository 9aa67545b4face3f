#include <idem/key.hpp>

#include "error_of.h"
#include "literal.h"

#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
#include <set>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace idem::client::test {
namespace {

std::string refusal_of(const std::string &text)
{
    return sqlstate_of([&] { Key key(text); });
}

std::string from_header(const std::string &value)
{
    return Key::from_header(value).text();
}

std::string header_refusal_of(const std::string &value)
{
    return sqlstate_of([&] { (void)Key::from_header(value); });
}

TEST(Key, MadeOneIsAUuidOfTheTime)
{
    using std::chrono::milliseconds;
    const auto now = [] { return std::chrono::system_clock::now().time_since_epoch() / milliseconds(1); };
    const auto before = now();
    const std::string key = Key::make().text();
    const auto after = now();
    ASSERT_EQ(key.size(), 36U);
    EXPECT_EQ(key.find_first_not_of("0123456789abcdef-"), std::string::npos);
    EXPECT_EQ(std::string() + key[8] + key[13] + key[14] + key[18] + key[23], "--7--");
    EXPECT_NE(std::string("89ab").find(key[19]), std::string::npos);
    const auto time = std::stoll(key.substr(0, 8) + key.substr(9, 4), nullptr, 16);
    EXPECT_GE(time, before);
    EXPECT_LE(time, after);
}

TEST(Key, IsMadeOnceAcrossThreads)
{
    std::mutex mutex;
    std::set<std::string> keys;
    std::vector<std::thread> threads;
    threads.reserve(8);
    for (int i = 0; i < 8; ++i) {
        threads.emplace_back([&] {
            for (int j = 0; j < 2000; ++j) {
                const std::string key = Key::make().text();
                const std::lock_guard lock(mutex);
                keys.insert(key);
            }
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    EXPECT_EQ(keys.size(), 16000U);
}

// Random bits that were kept for later would be the same in both processes.
TEST(Key, IsMadeOnceAcrossAFork)
{
    (void)Key::make();
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        const std::string key = Key::make().text();
        _exit(write(ends[1], key.data(), key.size()) == 36 ? 0 : 1);
    }
    const std::string mine = Key::make().text();
    std::string theirs(36, '\0');
    ASSERT_EQ(read(ends[0], theirs.data(), theirs.size()), 36);
    close(ends[0]);
    close(ends[1]);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_NE(mine.substr(20), theirs.substr(20)); // the random part
}

TEST(Key, IsKeptOctetByOctet)
{
    for (const std::string &text : {text("k"), text("Cart 17"), text("é"), text("e\u0301"), text("\u200B"),
                                    text("'; DROP"), std::string(255, 'k')}) {
        EXPECT_EQ(Key(text).text(), text);
    }
    EXPECT_NE(Key("a"), Key("A"));
    EXPECT_EQ(Key("a"), Key("a"));
    EXPECT_LT(Key("a"), Key("b"));
}

TEST(Key, IsRefusedAsTheServerWould)
{
    for (const std::string &text : {text(""), std::string(256, 'k'), text(" k"), text("k "), text("\u00A0k"),
                                    text("k\u3000"), text("a\tb"), text("a\nb"), text("a\x7F"), text("\u0085")}) {
        EXPECT_EQ(refusal_of(text), "22023") << testing::PrintToString(text);
    }
    EXPECT_EQ(refusal_of(std::string(127, 'k') + std::string(64, '\xC3')), "22021");
}

// case H32: libpq would send the text up to the NUL
TEST(Key, IsRefusedWithNul)
{
    EXPECT_EQ(refusal_of(text("a\0b")), "22023");
    EXPECT_EQ(refusal_of(text("\0")), "22023");
}

TEST(Key, IsRefusedWhereItIsNoUtf8)
{
    for (const std::string &text :
         {text("\xFF"), text("\x80"), text("a\xC3"), text("\xC0\x80"), text("\xC1\xBF"), text("\xE0\x9F\xBF"),
          text("\xED\xA0\xBD"), text("\xED\xBF\xBF"), text("\xF0\x8F\xBF\xBF"), text("\xF4\x90\x80\x80"),
          text("\xF5\x80\x80\x80"), text("\xE2\x82"), text("\xE2\x28\xA1")}) {
        EXPECT_EQ(refusal_of(text), "22021") << testing::PrintToString(text);
    }
    for (const std::string &text : {text("\xC2\xA1"), text("\xE0\xA0\x80"), text("\xED\x9F\xBF"), text("\xEE\x80\x80"),
                                    text("\xF0\x90\x80\x80"), text("\xF4\x8F\xBF\xBF")}) {
        EXPECT_EQ(refusal_of(text), "none") << testing::PrintToString(text);
    }
}

TEST(Key, RefusalShowsNoKey)
{
    const auto error = error_of([] { Key key("secret\n"); });
    ASSERT_TRUE(error);
    EXPECT_EQ((error->message() + error->detail() + error->hint()).find("secret"), std::string::npos);
    EXPECT_EQ(error->attempts(), 0);
}

TEST(KeyHeader, IsAString)
{
    EXPECT_EQ(from_header(R"("8e03978e-40d5")"), "8e03978e-40d5");
    EXPECT_EQ(from_header(" \t\"8e03978e-40d5\" \t"), "8e03978e-40d5");
    EXPECT_EQ(from_header(R"("a \"b\" \\ c")"), R"(a "b" \ c)");
    EXPECT_EQ(from_header(R"("a,b;c")"), "a,b;c");
}

TEST(KeyHeader, HasParametersThatAreIgnored)
{
    EXPECT_EQ(from_header(R"("k";a)"), "k");
    EXPECT_EQ(from_header(R"("k"; a=1; b="x")"), "k");
}

TEST(KeyHeader, IsARawToken)
{
    EXPECT_EQ(from_header("8e03978e-40d5"), "8e03978e-40d5");
    EXPECT_EQ(from_header(" k "), "k");
    EXPECT_EQ(from_header("aGVsbG8+/w=="), "aGVsbG8+/w==");
}

TEST(KeyHeader, IsRefusedWhereItIsNeither)
{
    for (const std::string &value :
         {text(""),         text(" "),        text(R"(")"),       text(R"("a)"),       text(R"("a\)"),
          text(R"("a\b")"), text(R"("a"b)"),  text(R"("a" "b")"), text(R"("a", "b")"), text("a b"),
          text("a,b"),      text("a;b"),      text(R"(a"b)"),     text(R"(a\b)"),      text("é"),
          text("\"é\""),    text("\"a\tb\""), text("\"a\0b\""),   text("a\0b"),        text("\x7F")}) {
        EXPECT_EQ(header_refusal_of(value), "22023") << testing::PrintToString(value);
    }
}

TEST(KeyHeader, FollowsTheRulesForKeys)
{
    EXPECT_EQ(header_refusal_of(R"("")"), "22023");
    EXPECT_EQ(header_refusal_of(R"(" k")"), "22023");
    EXPECT_EQ(from_header('"' + std::string(255, 'k') + '"'), std::string(255, 'k'));
    EXPECT_EQ(header_refusal_of('"' + std::string(256, 'k') + '"'), "22023");
}

} // namespace
} // namespace idem::client::test
