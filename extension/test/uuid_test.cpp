#include "uuid.h"

#include "hex.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace idem::core::test {
namespace {

constexpr int64_t kMicroseconds = 1645557742000000; // the time of the example in RFC 9562 appendix A.6

// The 60 bits that the time decides: milliseconds, then their fraction without the version.
std::string time_of(const Uuid &uuid)
{
    std::string digits = hex(uuid).substr(0, 16);
    digits.erase(12, 1);
    return digits;
}

TEST(Uuid7, StartsWithTheMilliseconds)
{
    EXPECT_EQ(hex(make_uuid7(kMicroseconds)).substr(0, 12), "017f22e279b0");
    EXPECT_EQ(hex(make_uuid7(kMicroseconds + 999)).substr(0, 12), "017f22e279b0");
    EXPECT_EQ(hex(make_uuid7(kMicroseconds + 1000)).substr(0, 12), "017f22e279b1");
    EXPECT_EQ(hex(make_uuid7(0)).substr(0, 12), "000000000000");
    EXPECT_EQ(hex(make_uuid7(0x123456789abc * 1000)).substr(0, 12), "123456789abc");
    EXPECT_EQ(hex(make_uuid7(0xffffffffffff * 1000 + 999)).substr(0, 12), "ffffffffffff");
}

TEST(Uuid7, KeepsTheFractionOfAMillisecondInTwelveBits)
{
    EXPECT_EQ(time_of(make_uuid7(kMicroseconds)), "017f22e279b0000");
    EXPECT_EQ(time_of(make_uuid7(kMicroseconds + 1)), "017f22e279b0004");
    EXPECT_EQ(time_of(make_uuid7(kMicroseconds + 250)), "017f22e279b0400");
    EXPECT_EQ(time_of(make_uuid7(kMicroseconds + 500)), "017f22e279b0800");
    EXPECT_EQ(time_of(make_uuid7(kMicroseconds + 999)), "017f22e279b0ffb");
}

TEST(Uuid7, CarriesVersionSevenAndTheRfcVariant)
{
    for (int64_t step = 0; step < 1000; ++step) {
        const Uuid uuid = make_uuid7(kMicroseconds + step);
        ASSERT_EQ(uuid[6] >> 4, 7);
        ASSERT_EQ(uuid[8] >> 6, 2);
    }
}

TEST(Uuid7, SortsByTime)
{
    Uuid last = make_uuid7(kMicroseconds);
    for (int64_t step = 1; step <= 5000; ++step) {
        const Uuid next = make_uuid7(kMicroseconds + step);
        ASSERT_LT(last, next) << step;
        last = next;
    }
    EXPECT_LT(last, make_uuid7(kMicroseconds + int64_t{1000} * 1000 * 3600));
}

TEST(Uuid7, SetsEveryRandomBitBothWays)
{
    Uuid ones{};
    Uuid zeros{};
    for (int round = 0; round < 200; ++round) {
        const Uuid uuid = make_uuid7(kMicroseconds);
        for (size_t i = 0; i < uuid.size(); ++i) {
            ones[i] = static_cast<unsigned char>(ones[i] | uuid[i]);
            zeros[i] = static_cast<unsigned char>(zeros[i] | ~uuid[i]);
        }
    }
    EXPECT_EQ(hex(ones).substr(16), "bfffffffffffffff");
    EXPECT_EQ(hex(zeros).substr(16), "7fffffffffffffff");
}

// Neighbours that shared octets of one random block would be guessable from each other.
TEST(Uuid7, TakesEveryRandomOctetOnce)
{
    int shared = 0;
    Uuid last = make_uuid7(kMicroseconds);
    for (int round = 0; round < 300; ++round) {
        const Uuid next = make_uuid7(kMicroseconds);
        const std::string random = hex(next).substr(18);
        for (size_t octets = 3; octets <= 7; ++octets) {
            shared += hex(last).substr(32 - 2 * octets) == random.substr(0, 2 * octets) ? 1 : 0;
        }
        last = next;
    }
    EXPECT_LE(shared, 1); // three octets may be equal by chance, once
}

TEST(Uuid7, NeverRepeatsWithinOneMicrosecond)
{
    std::vector<Uuid> ids(100000);
    std::generate(ids.begin(), ids.end(), [] { return make_uuid7(kMicroseconds); });
    std::sort(ids.begin(), ids.end());
    EXPECT_EQ(std::adjacent_find(ids.begin(), ids.end()), ids.end());
}

} // namespace
} // namespace idem::core::test
