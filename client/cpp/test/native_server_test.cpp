#include <idem/client.hpp>

#include "error_of.h"
#include "server.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace idem::client::test {
namespace {

// A client with one connection, which actions use without it.
class Native : public testing::Test {
protected:
    void SetUp() override
    {
        database_.value("DROP TABLE IF EXISTS posting");
        database_.value("CREATE TABLE posting (tenant text)");
    }

    int postings_of(const std::string &tenant)
    {
        return std::stoi(database_.value("SELECT count(*) FROM posting WHERE tenant = '" + tenant + "'"));
    }

    Database database_;
    Attempted attempted_;
    Client client_{{.pool_size = 1, .on_attempt = attempted_.hook()}};
    Request request_ = make_request();
};

// An action that uses the connection.
std::function<void(Transaction &)> natively(const std::vector<std::string> &statements)
{
    return [statements](Transaction &tx) {
        for (const std::string &statement : statements) {
            const Rows rows(PQexec(tx.native(), statement.c_str()));
            ASSERT_EQ(PQresultStatus(rows.native()), PGRES_COMMAND_OK) << statement;
        }
    };
}

TEST_F(Native, TheActionMayNotEndTheTransaction)
{
    const std::string again = "; INSERT INTO posting VALUES ('late')";
    for (const std::vector<std::string> &end : std::vector<std::vector<std::string>>{
             {"COMMIT"},
             {"COMMIT", "BEGIN"},
             {"COMMIT; BEGIN" + again},
             {"END; START TRANSACTION" + again},
             {"COMMIT AND CHAIN" + again},
             {"ROLLBACK; BEGIN" + again},
             {"ABORT", "START TRANSACTION"},
             {"ROLLBACK AND CHAIN" + again},
             {"SAVEPOINT a", "ROLLBACK", "BEGIN"},
             {"SAVEPOINT a; RELEASE a; ROLLBACK; BEGIN" + again},
         }) {
        request_ = make_request();
        const auto action = natively(end);
        EXPECT_EQ(sqlstate_of([&] { client_.transact(action); }), "2D000") << end.back();
        EXPECT_EQ(sqlstate_of([&] { client_.once(request_, [&](Transaction &tx, const Result &) { action(tx); }); }),
                  "2D000")
            << end.back();
        Transaction tx = client_.begin();
        action(tx);
        EXPECT_EQ(sqlstate_of([&] { tx.commit(); }), "25P01") << end.back();
    }
    EXPECT_EQ(postings_of("late"), 0);
    const auto reset = [](Transaction &tx) {
        PQreset(tx.native());
        PQclear(PQexec(tx.native(), "BEGIN"));
    };
    EXPECT_EQ(sqlstate_of([&] { client_.transact(reset); }), "2D000");
}

TEST_F(Native, WhatTheActionDoesOnTheConnectionBelongsToItsTransaction)
{
    const std::string insert = "INSERT INTO posting VALUES ('" + request_.tenant_id + "')";
    const auto action = natively({"SAVEPOINT a", insert, "ROLLBACK TO a", "SAVEPOINT b", insert, "RELEASE b",
                                  "SAVEPOINT c; ROLLBACK TO SAVEPOINT c; RELEASE c", "SET LOCAL lock_timeout = 1000"});
    EXPECT_EQ(client_.once(request_, [&](Transaction &tx, const Result &) { action(tx); }).outcome, Outcome::created);
    EXPECT_EQ(postings_of(request_.tenant_id), 1);
    client_.transact(action);
    EXPECT_EQ(postings_of(request_.tenant_id), 2);
    Transaction tx = client_.begin();
    action(tx);
    tx.commit();
    EXPECT_EQ(postings_of(request_.tenant_id), 3);
    EXPECT_EQ(attempted_.words().find_first_of("0123456789"), std::string::npos) << attempted_.words();
}

// A result may be kept for longer than its connection.
TEST_F(Native, AResultOutlivesTheClient)
{
    std::unique_ptr<Rows> rows;
    {
        Client client({});
        client.transact([&](Transaction &tx) { rows = std::make_unique<Rows>(tx.run("SELECT 'kept'")); });
    }
    EXPECT_EQ(rows->at(0, 0), "kept");
    rows.reset();
}

TEST_F(Native, ARequestIsNotSentInAnotherEncoding)
{
    request_.key = Key("caf\u00e9");
    const auto refused = [&](const std::function<Result(Transaction &)> &call) {
        return sqlstate_of([&] {
            client_.transact([&](Transaction &tx) {
                tx.run("SET LOCAL client_encoding = 'LATIN1'");
                EXPECT_EQ(sqlstate_of([&] { call(tx); }), "22023");
                EXPECT_EQ(PQtransactionStatus(tx.native()), PQTRANS_INTRANS); // nothing was sent
                tx.run("SET LOCAL client_encoding = 'UTF8'");
                EXPECT_EQ(call(tx).outcome, Outcome::created);
                throw Error("ID004", "roll back");
            });
        });
    };
    EXPECT_EQ(refused([&](Transaction &tx) { return tx.create_transaction(request_); }), "ID004");
    EXPECT_EQ(refused([&](Transaction &tx) { return tx.try_create_transaction(request_); }), "ID004");
}

} // namespace
} // namespace idem::client::test
