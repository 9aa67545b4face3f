#include "decimal.h"

#include "json_tree.h"
#include "random_json.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <limits>

namespace idem::core::test {
namespace {

// The canonical form of exactly these groups.
std::string layout(const Decimal &number)
{
    std::string out;
    append_number(out, number);
    return out;
}

// The canonical form of a number as a document writes it.
std::string layout(std::string_view literal)
{
    return layout(parse_decimal(literal));
}

// The layout of a literal by ECMA-262 Number::toString on a row of decimal places, one character each: slow and plain.
std::string slow_layout(std::string_view literal)
{
    constexpr size_t kPlaces = 200; // on either side of the point
    const bool negative = literal.starts_with('-');
    const std::string unsigned_text(literal.substr(negative ? 1 : 0));
    const size_t mark = std::min(unsigned_text.find('e'), unsigned_text.size());
    const std::string mantissa = unsigned_text.substr(0, mark);
    const int shift = mark < unsigned_text.size() ? std::stoi(unsigned_text.substr(mark + 1)) : 0;

    std::string row(2 * kPlaces, '0');
    size_t place = kPlaces - std::min(mantissa.find('.'), mantissa.size()) - static_cast<size_t>(shift);
    for (const char c : mantissa) {
        if (c != '.') {
            row[place++] = c;
        }
    }
    const size_t first = row.find_first_not_of('0');
    if (first == std::string::npos) {
        return "0";
    }
    const std::string s = row.substr(first, row.find_last_not_of('0') + 1 - first);
    const int k = static_cast<int>(s.size());
    const int n = static_cast<int>(kPlaces) - static_cast<int>(first);
    const std::string sign = negative ? "-" : "";
    if (k <= n && n <= 21) {
        return sign + s + std::string(static_cast<size_t>(n - k), '0');
    }
    if (0 < n && n <= 21) {
        return sign + s.substr(0, static_cast<size_t>(n)) + "." + s.substr(static_cast<size_t>(n));
    }
    if (-6 < n && n <= 0) {
        return sign + "0." + std::string(static_cast<size_t>(-n), '0') + s;
    }
    const std::string exponent = (n - 1 < 0 ? "e-" : "e+") + std::to_string(std::abs(n - 1));
    return sign + s.substr(0, 1) + (k > 1 ? "." + s.substr(1) : "") + exponent;
}

TEST(Decimal, WritesZeroInEveryFormAsZero)
{
    EXPECT_EQ(layout(Decimal{}), "0");
    EXPECT_EQ(layout(Decimal{true, 0, {}}), "0");
    EXPECT_EQ(layout(Decimal{false, 7, {0}}), "0");
    EXPECT_EQ(layout(Decimal{true, -3, {0, 0, 0}}), "0");
    for (const char *zero : {"0", "-0", "-0.0", "0e5", "0.000", "0e-9", "00000.00000"}) {
        EXPECT_EQ(layout(zero), "0") << zero;
    }
}

TEST(Decimal, WritesEachDigitOfOneGroup)
{
    for (unsigned value = 1; value < 10000; ++value) {
        EXPECT_EQ(layout(Decimal{false, 0, {static_cast<uint16_t>(value)}}), std::to_string(value));
    }
}

TEST(Decimal, KeepsZerosInsideTheNumber)
{
    EXPECT_EQ(layout(Decimal{false, 1, {1, 1}}), "10001");
    EXPECT_EQ(layout(Decimal{false, 2, {12, 0, 5}}), "1200000005");
    EXPECT_EQ(layout(Decimal{false, 0, {1, 0, 7}}), "1.00000007");
    EXPECT_EQ(layout(Decimal{false, 0, {5, 20, 300}}), "5.002003");
}

TEST(Decimal, DropsTrailingFractionalZeros)
{
    for (const char *one : {"1", "1.0", "1.00", "1e0", "10e-1", "0.1e1", "1.0000000000000000000000000000"}) {
        EXPECT_EQ(layout(one), "1") << one;
    }
    EXPECT_EQ(layout("4.50"), "4.5");
    EXPECT_EQ(layout("120.3400"), "120.34");
    EXPECT_EQ(layout("100.000"), "100");
}

TEST(Decimal, IgnoresLeadingAndTrailingZeroGroups)
{
    const std::vector<Decimal> twelve_and_a_half = {
        {false, 0, {12, 5000}},
        {false, 0, {12, 5000, 0, 0}},
        {false, 2, {0, 0, 12, 5000}},
        {false, 3, {0, 0, 0, 12, 5000, 0}},
    };
    for (const Decimal &number : twelve_and_a_half) {
        EXPECT_EQ(layout(number), "12.5");
    }
    EXPECT_EQ(layout(Decimal{false, 1, {3}}), "30000"); // groups that are not sent are zero
    EXPECT_EQ(layout(Decimal{false, 1, {3, 0}}), "30000");
    EXPECT_EQ(layout(Decimal{false, -1, {0, 3}}), "3e-8");
}

TEST(Decimal, PutsThePointWhereTheWeightSays)
{
    const std::vector<std::pair<int, std::string>> expected = {
        {-3, "1.234e-9"}, {-2, "0.00001234"},  {-1, "0.1234"},          {0, "1234"},
        {1, "12340000"},  {2, "123400000000"}, {3, "1234000000000000"}, {4, "12340000000000000000"},
        {5, "1.234e+23"},
    };
    for (const auto &[weight, text] : expected) {
        EXPECT_EQ(layout(Decimal{false, weight, {1234}}), text) << weight;
        EXPECT_EQ(layout(Decimal{true, weight, {1234}}), "-" + text) << weight;
    }
}

TEST(Decimal, WritesIntegersOfTwentyOneDigitsPlain)
{
    EXPECT_EQ(layout("100000000000000000000"), "100000000000000000000");
    EXPECT_EQ(layout("1e20"), "100000000000000000000");
    EXPECT_EQ(layout("999999999999999999999"), "999999999999999999999");
    EXPECT_EQ(layout("999999999999999999999.5"), "999999999999999999999.5");
    EXPECT_EQ(layout("-999999999999999999999"), "-999999999999999999999");
}

TEST(Decimal, WritesIntegersOfTwentyTwoDigitsWithExponent)
{
    EXPECT_EQ(layout("1000000000000000000000"), "1e+21");
    EXPECT_EQ(layout("1e21"), "1e+21");
    EXPECT_EQ(layout("1000000000000000000001"), "1.000000000000000000001e+21");
    EXPECT_EQ(layout("1234567890123456789012.5"), "1.2345678901234567890125e+21");
    EXPECT_EQ(layout("-1000000000000000000000"), "-1e+21");
}

TEST(Decimal, WritesSmallNumbersPlainDownToOneMillionth)
{
    EXPECT_EQ(layout("0.1"), "0.1");
    EXPECT_EQ(layout("0.00001"), "0.00001");
    EXPECT_EQ(layout("1e-6"), "0.000001");
    EXPECT_EQ(layout("0.00000123"), "0.00000123");
    EXPECT_EQ(layout("-1.000001e-6"), "-0.000001000001");
}

TEST(Decimal, WritesNumbersBelowOneMillionthWithExponent)
{
    EXPECT_EQ(layout("1e-7"), "1e-7");
    EXPECT_EQ(layout("0.0000009"), "9e-7");
    EXPECT_EQ(layout("0.00000099999"), "9.9999e-7");
    EXPECT_EQ(layout("-0.00000010"), "-1e-7");
}

TEST(Decimal, NeverExpandsAnExponent)
{
    EXPECT_EQ(layout(Decimal{false, 32767, {1}}), "1e+131068");
    EXPECT_EQ(layout(Decimal{false, 32767, {9999}}), "9.999e+131071");
    EXPECT_EQ(layout(Decimal{false, -32768, {1}}), "1e-131072");
    EXPECT_EQ(layout(Decimal{true, -4096, {1230}}), "-1.23e-16381");
}

TEST(Decimal, KeepsDigitsBeyondDouble)
{
    EXPECT_EQ(layout("9007199254740992"), "9007199254740992");
    EXPECT_EQ(layout("9007199254740993"), "9007199254740993");
    EXPECT_EQ(layout("0.1000000000000000055511151231257827"), "0.1000000000000000055511151231257827");
    EXPECT_EQ(layout("333333333.33333329"), "333333333.33333329");
}

// The samples of RFC 8785 appendix B as ECMAScript prints them, and more doubles at the ends of the range.
TEST(Decimal, LeavesNumbersThatEcmaScriptPrintedUnchanged)
{
    for (const char *printed : {"5e-324",
                                "-5e-324",
                                "1.7976931348623157e+308",
                                "-1.7976931348623157e+308",
                                "9007199254740992",
                                "-9007199254740992",
                                "295147905179352830000",
                                "9.999999999999997e+22",
                                "1e+23",
                                "1.0000000000000001e+23",
                                "999999999999999700000",
                                "999999999999999900000",
                                "1e+21",
                                "9.999999999999997e-7",
                                "0.000001",
                                "333333333.3333332",
                                "333333333.33333325",
                                "333333333.3333333",
                                "333333333.3333334",
                                "333333333.33333343",
                                "-0.0000033333333333333333",
                                "1424953923781206.2",
                                "2.2250738585072014e-308",
                                "4.5",
                                "0.002",
                                "1e-27",
                                "1e+30"}) {
        EXPECT_EQ(layout(printed), printed);
    }
}

TEST(Decimal, AppendsBehindWhatIsThere)
{
    std::string out = "[";
    append_number(out, parse_decimal("-1.5"));
    append_number(out, int64_t{7});
    append_number(out, Decimal{});
    EXPECT_EQ(out, "[-1.570");
}

TEST(Decimal, WritesEveryIntegerPlain)
{
    const auto integer = [](int64_t number) {
        std::string out;
        append_number(out, number);
        return out;
    };
    EXPECT_EQ(integer(0), "0");
    EXPECT_EQ(integer(-1), "-1");
    EXPECT_EQ(integer(1000000), "1000000");
    EXPECT_EQ(integer(std::numeric_limits<int64_t>::max()), "9223372036854775807");
    EXPECT_EQ(integer(std::numeric_limits<int64_t>::min()), "-9223372036854775808");
}

TEST(Decimal, AgreesWithTheSlowLayout)
{
    RandomJson random(1);
    for (int round = 0; round < 50000; ++round) {
        const std::string literal = random.literal();
        ASSERT_EQ(layout(literal), slow_layout(literal)) << literal;
    }
}

TEST(Decimal, AgreesWithTheSlowLayoutAtEveryBorder)
{
    for (const char *digits : {"1", "10", "12", "9999", "10000", "10001", "99999999", "100000000000000000001"}) {
        for (int exponent = -45; exponent <= 45; ++exponent) {
            const std::string literal = digits + ("e" + std::to_string(exponent));
            ASSERT_EQ(layout(literal), slow_layout(literal)) << literal;
        }
    }
}

TEST(Decimal, ReadsBackAsTheSameDouble)
{
    RandomJson random(2);
    for (int round = 0; round < 20000; ++round) {
        const std::string literal = random.literal();
        ASSERT_EQ(std::strtod(layout(literal).c_str(), nullptr), std::strtod(literal.c_str(), nullptr)) << literal;
    }
}

TEST(Decimal, CountsTheZerosThatAreOnlyPrinted)
{
    const auto zeros = [](int weight, std::vector<uint16_t> digits, int scale) {
        return printed_zeros({false, weight, std::move(digits), scale});
    };
    EXPECT_EQ(zeros(32767, {1000}, 0), 131068U);       // 1e131071
    EXPECT_EQ(zeros(-4096, {10}, 16383), 16379U);      // 1e-16383
    EXPECT_EQ(zeros(0, {}, 16383), 16387U);            // 0e-16383
    EXPECT_EQ(zeros(25, {1, 5000}, 0), 96U);           // 1.5e100
    EXPECT_EQ(zeros(2, {1, 2345, 6789}, 0), 0U);       // 123456789
    EXPECT_EQ(zeros(1, {1, 2345, 6789, 1000}, 5), 0U); // 12345.67891
    EXPECT_EQ(zeros(3, {1}, 0), 0U);                   // 1e12, which is as long where it is written
    EXPECT_EQ(zeros(-2, {1}, 8), 0U);                  // 0.00000001
    EXPECT_EQ(zeros(0, {}, 0), 0U);                    // 0
    EXPECT_EQ(zeros(2, std::vector<uint16_t>(900, 7), 3588), 0U);
}

} // namespace
} // namespace idem::core::test
