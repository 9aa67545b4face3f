#include "error.h"

#include "errcodes.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>
#include <string>

namespace idem::core::test {
namespace {

TEST(Error, KeepsEveryPart)
{
    const Error error(sqlstate::kKeyReused, "a message", "A detail.", "A hint.");
    EXPECT_STREQ(error.sqlstate(), "ID001");
    EXPECT_EQ(error.message(), "a message");
    EXPECT_EQ(error.detail(), "A detail.");
    EXPECT_EQ(error.hint(), "A hint.");
}

TEST(Error, HasNoDetailAndNoHintUnlessGiven)
{
    const Error error(sqlstate::kInvalidParameter, "a message");
    EXPECT_EQ(error.detail(), "");
    EXPECT_EQ(error.hint(), "");
}

TEST(Error, IsAStandardExceptionThatSaysItsMessage)
{
    try {
        throw Error(sqlstate::kInProgress, "a message", "A detail.");
    } catch (const std::exception &exception) {
        EXPECT_STREQ(exception.what(), "a message");
    }
}

TEST(Error, OutlivesTheTextsItWasMadeFrom)
{
    std::string message(100, 'm');
    const Error error(sqlstate::kInvalidParameter, message);
    message.assign(100, 'x');
    const Error copy = error;
    EXPECT_EQ(copy.message(), std::string(100, 'm'));
}

TEST(Errcodes, AreWellFormedAndDistinct)
{
    const std::set<std::string> codes = {
        sqlstate::kKeyReused,        sqlstate::kInProgress,
        sqlstate::kOrderTaken,       sqlstate::kNullValue,
        sqlstate::kInvalidParameter, sqlstate::kSerializationFailure,
        sqlstate::kLimitExceeded,    sqlstate::kInsufficientPrivilege,
        sqlstate::kTooComplex,       sqlstate::kNotInState,
        sqlstate::kSystemError,      sqlstate::kDataCorrupted,
        sqlstate::kInvalidText,      sqlstate::kUntranslatable,
        sqlstate::kUndefinedColumn,
    };
    EXPECT_EQ(codes.size(), 15U);
    for (const std::string &code : codes) {
        EXPECT_EQ(code.size(), 5U) << code;
        EXPECT_TRUE(std::all_of(code.begin(), code.end(), [](char c) {
            return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z');
        })) << code;
    }
}

// Clients switch on these, so that they are written out here a second time.
TEST(Errcodes, NeverChangeTheirMeaning)
{
    EXPECT_STREQ(sqlstate::kKeyReused, "ID001");
    EXPECT_STREQ(sqlstate::kInProgress, "ID002");
    EXPECT_STREQ(sqlstate::kOrderTaken, "ID003");
    EXPECT_STREQ(sqlstate::kNullValue, "22004");
    EXPECT_STREQ(sqlstate::kInvalidParameter, "22023");
    EXPECT_STREQ(sqlstate::kSerializationFailure, "40001");
    EXPECT_STREQ(sqlstate::kNotInState, "55000");
}

} // namespace
} // namespace idem::core::test
