#include "sha256.h"

#include "hex.h"

#include <gtest/gtest.h>
#include <string>

namespace idem::core::test {
namespace {

TEST(Sha256, HashesTheEmptyText)
{
    EXPECT_EQ(hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

// The examples of FIPS 180-4: one block, two blocks, and the longer ones of its first edition.
TEST(Sha256, HashesTheExamplesOfFips180)
{
    EXPECT_EQ(hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(hex(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    EXPECT_EQ(hex(sha256("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlm"
                         "nopqrsmnopqrstnopqrstu")),
              "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
    EXPECT_EQ(hex(sha256(std::string(1000000, 'a'))),
              "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, HashesOctetsBehindANul)
{
    EXPECT_EQ(hex(sha256(std::string_view("\0", 1))),
              "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d");
    EXPECT_NE(sha256(std::string_view("a\0b", 3)), sha256(std::string_view("a\0c", 3)));
}

TEST(Sha256, StartsAfreshOnEveryCall)
{
    const Sha256 first = sha256("abc");
    EXPECT_NE(sha256("abcd"), first);
    EXPECT_EQ(sha256("abc"), first);
}

} // namespace
} // namespace idem::core::test
