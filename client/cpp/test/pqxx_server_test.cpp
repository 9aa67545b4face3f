// The calls on a connection that libpqxx uses too. Release 7.7 is the first one that takes a connection of libpq.

#include <idem/call.hpp>

#include "error_of.h"
#include "server.h"

#ifdef IDEM_PQXX
#include <pqxx/pqxx>
#endif

#include <gtest/gtest.h>

namespace idem::client::test {
namespace {

#ifdef IDEM_PQXX

// A connection that libpqxx owns, and whose handle is known because libpq made it.
class Pqxx : public testing::Test {
protected:
    int postings(const std::string &tenant)
    {
        return std::stoi(database_.value("SELECT count(*) FROM pqxx_posting WHERE tenant = '" + tenant + "'"));
    }

    void SetUp() override
    {
        database_.value("DROP TABLE IF EXISTS pqxx_posting");
        database_.value("CREATE TABLE pqxx_posting (tenant text, transaction_id uuid)");
        ASSERT_EQ(PQstatus(handle_), CONNECTION_OK);
    }

    Result post(pqxx::work &work)
    {
        const Result result = create_transaction(handle_, request_);
        if (result.outcome == Outcome::created) {
            work.exec("INSERT INTO pqxx_posting VALUES (" + work.quote(request_.tenant_id) + ", " +
                      work.quote(result.transaction_id) + ")");
        }
        return result;
    }

    Database database_;
    Request request_ = make_request();
    PGconn *handle_ = PQconnectdb("client_encoding=UTF8");
    pqxx::connection connection_ = pqxx::connection::seize_raw_connection(handle_);
};

TEST_F(Pqxx, ACallIsPartOfATransactionOfLibpqxx)
{
    pqxx::work work(connection_);
    EXPECT_EQ(post(work).outcome, Outcome::created);
    EXPECT_EQ(rows_of(request_.tenant_id), 0) << "before the commit";
    work.commit();
    EXPECT_EQ(rows_of(request_.tenant_id), 1);
    EXPECT_EQ(postings(request_.tenant_id), 1);
}

TEST_F(Pqxx, ARetryIsReplayed)
{
    for (const Outcome outcome : {Outcome::created, Outcome::replayed}) {
        pqxx::work work(connection_);
        EXPECT_EQ(post(work).outcome, outcome);
        work.commit();
    }
    EXPECT_EQ(postings(request_.tenant_id), 1);
}

TEST_F(Pqxx, WhatIsAbortedIsGone)
{
    {
        pqxx::work work(connection_);
        EXPECT_EQ(post(work).outcome, Outcome::created);
    }
    EXPECT_EQ(rows_of(request_.tenant_id), 0);
    EXPECT_EQ(postings(request_.tenant_id), 0);
}

TEST_F(Pqxx, AnErrorOfACallLeavesTheConnectionToLibpqxx)
{
    create_transaction(database_.native(), request_);
    request_.amount_minor += 1;
    {
        pqxx::work work(connection_);
        EXPECT_TRUE(error_of<ConflictError>([&] { create_transaction(handle_, request_); }));
    }
    pqxx::work work(connection_);
    EXPECT_EQ(work.exec("SELECT 7")[0][0].as<int>(), 7);
}

#else

TEST(Pqxx, ACallIsPartOfATransactionOfLibpqxx)
{
    GTEST_SKIP() << "there is no libpqxx 7.7 or later";
}

#endif

} // namespace
} // namespace idem::client::test
