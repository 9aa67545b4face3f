#include "error_of.h"
#include "raise.h"

#include <gtest/gtest.h>

namespace idem::client::test {
namespace {

TEST(ClientError, CarriesWhatTheServerSaid)
{
    const auto error = error_of([] { raise({"22023", "message", "Detail.", "Hint."}, 3); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->sqlstate(), "22023");
    EXPECT_EQ(error->message(), "message");
    EXPECT_EQ(error->detail(), "Detail.");
    EXPECT_EQ(error->hint(), "Hint.");
    EXPECT_EQ(error->attempts(), 3);
    EXPECT_STREQ(error->what(), "message");
}

TEST(ClientError, HasTheClassOfItsSqlstate)
{
    EXPECT_TRUE(error_of<ConflictError>([] { raise({"ID001", ""}); }));
    EXPECT_TRUE(error_of<ConflictError>([] { raise({"ID003", ""}); }));
    EXPECT_TRUE(error_of<InProgressError>([] { raise({"ID002", ""}); }));
    EXPECT_TRUE(error_of<InDoubtError>([] { raise({"ID006", ""}); }));
    EXPECT_FALSE(error_of<ConflictError>([] { raise({"23505", ""}); }));
    EXPECT_FALSE(error_of<InProgressError>([] { raise({"55P03", ""}); }));
    EXPECT_FALSE(error_of<InDoubtError>([] { raise({"08007", ""}); }));
}

TEST(ClientError, IsRaisedAgainWithItsClassAndTheAttempts)
{
    const auto error = error_of<ConflictError>([] { raise_again(ConflictError("ID001", "m", "d", "h"), 4); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->sqlstate(), "ID001");
    EXPECT_EQ(error->message() + error->detail() + error->hint(), "mdh");
    EXPECT_EQ(error->attempts(), 4);
}

TEST(ClientError, ExhaustedRetriesCarryTheLastFailure)
{
    const RetriesExhausted error(Error("40001", "message", "Detail.", "Hint."), 7, true);
    EXPECT_EQ(error.sqlstate(), "40001");
    EXPECT_EQ(error.message() + error.detail() + error.hint(), "messageDetail.Hint.");
    EXPECT_EQ(error.attempts(), 7);
    EXPECT_TRUE(error.in_doubt());
    EXPECT_FALSE(RetriesExhausted(Error("40001", ""), 1, false).in_doubt());
}

} // namespace
} // namespace idem::client::test
