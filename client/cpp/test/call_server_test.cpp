#include <idem/call.hpp>

#include "error_of.h"
#include "server.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace idem::client::test {
namespace {

using std::chrono::milliseconds;

bool is_usable(PGconn *connection)
{
    return PQtransactionStatus(connection) == PQTRANS_IDLE && PQpipelineStatus(connection) == PQ_PIPELINE_OFF &&
           create_transaction(connection, make_request()).outcome == Outcome::created;
}

TEST(Call, CreatesAndReplaysTheSameRow)
{
    Database database;
    Request request = make_request();
    request.order_ref = "order-1";
    const Result created = create_transaction(database.native(), request);
    EXPECT_EQ(created.outcome, Outcome::created);
    EXPECT_EQ(created.amount_minor, 4480);
    EXPECT_EQ(created.currency, "EUR");
    EXPECT_EQ(created.details, R"({"qty": 2, "sku": "B-7"})");
    EXPECT_EQ(created.order_ref, "order-1");
    EXPECT_EQ(created.transaction_id,
              database.value("SELECT id FROM idem_transactions WHERE tenant_id = '" + request.tenant_id + "'"));
    const auto stored = database.value("SELECT (extract(epoch FROM created_at) * 1000000)::bigint "
                                       "FROM idem_transactions WHERE tenant_id = '" +
                                       request.tenant_id + "'");
    EXPECT_EQ(std::to_string(created.created_at.time_since_epoch().count()), stored);

    Result replayed = create_transaction(database.native(), request);
    EXPECT_EQ(replayed.outcome, Outcome::replayed);
    replayed.outcome = Outcome::created;
    EXPECT_EQ(replayed, created);
    EXPECT_EQ(rows_of(request.tenant_id), 1);
}

TEST(Call, KeepsEveryOctetAndDigit)
{
    Database database;
    Request request = make_request();
    request.key = Key("é \u200B 'quoted\" \\ $1 %s");
    request.operation = "opération";
    request.amount_minor = 9223372036854775807;
    request.details = R"({"n": 12345678901234567890.123456789012345678901234567890, "t": "\u00e9\ud83d\ude00"})";
    const Result result = create_transaction(database.native(), request);
    EXPECT_EQ(result.amount_minor, 9223372036854775807);
    EXPECT_EQ(result.details, "{\"n\": 12345678901234567890.123456789012345678901234567890, \"t\": \"é😀\"}");
    EXPECT_EQ(result.order_ref, std::nullopt);
    EXPECT_EQ(database.value("SELECT idempotency_key || '|' || operation FROM idem_transactions WHERE tenant_id = '" +
                             request.tenant_id + "'"),
              request.key.text() + "|opération");
}

// Whoever moves rows into the ledger may give them any moment.
TEST(Call, ReadsMomentsThatTheClockCannotTell)
{
    Database database;
    const Request request = make_request();
    create_transaction(database.native(), request);
    const auto moment = [&](const std::string &stored) {
        database.value("UPDATE idem_transactions SET created_at = '" + stored + "' WHERE tenant_id = '" +
                       request.tenant_id + "'");
        const Result replayed = create_transaction(database.native(), request);
        EXPECT_EQ(replayed.outcome, Outcome::replayed);
        EXPECT_EQ(create_transactions(database.native(), {&request, 1}).front().created_at, replayed.created_at);
        return replayed.created_at;
    };
    EXPECT_EQ(moment("infinity"), Timestamp::max());
    EXPECT_EQ(moment("-infinity"), Timestamp::min());
    EXPECT_EQ(moment("294276-12-31 23:59:59.999999+00"), Timestamp::max());
    EXPECT_EQ(moment("1970-01-01 00:00:00+00"), Timestamp(std::chrono::microseconds(0)));
    EXPECT_EQ(moment("4713-01-01 00:00:00+00 BC"), std::chrono::sys_days(std::chrono::year(-4712) / 1 / 1));
}

TEST(Call, FollowsNoSettingOfTheSession)
{
    Database database;
    Request request = make_request();
    const Result first = create_transaction(database.native(), request);
    for (const char *setting : {"TimeZone = 'Asia/Kathmandu'", "DateStyle = 'German'", "bytea_output = 'escape'",
                                "standard_conforming_strings = off", "lc_messages = 'C'", "extra_float_digits = -5"}) {
        database.value(std::string("SET ") + setting);
    }
    Result again = create_transaction(database.native(), request);
    EXPECT_EQ(again.outcome, Outcome::replayed);
    again.outcome = Outcome::created;
    EXPECT_EQ(again, first);
}

TEST(Call, RaisesAConflictOrGivesItAsAnOutcome)
{
    Database database;
    Request request = make_request();
    request.order_ref = "order-1";
    create_transaction(database.native(), request);
    Request other = request;
    other.amount_minor = 9900;
    const auto conflict = error_of<ConflictError>([&] { create_transaction(database.native(), other); });
    ASSERT_TRUE(conflict);
    EXPECT_EQ(conflict->sqlstate(), "ID001");
    EXPECT_EQ(conflict->detail(), "The stored request differs in amount_minor.");
    EXPECT_FALSE(conflict->hint().empty());
    EXPECT_EQ(conflict->attempts(), 0);
    const Result as_outcome = try_create_transaction(database.native(), other);
    Result nothing;
    nothing.outcome = Outcome::conflict;
    EXPECT_EQ(as_outcome, nothing);
    other = request;
    other.key = Key("another");
    EXPECT_EQ(sqlstate_of([&] { create_transaction(database.native(), other); }), "ID003");
    EXPECT_EQ(try_create_transaction(database.native(), other).outcome, Outcome::order_taken);
    EXPECT_TRUE(is_usable(database.native()));
}

TEST(Call, RunsInTheTransactionThatIsOpen)
{
    Database database;
    const Request request = make_request();
    database.value("BEGIN");
    EXPECT_EQ(create_transaction(database.native(), request).outcome, Outcome::created);
    EXPECT_EQ(PQtransactionStatus(database.native()), PQTRANS_INTRANS);
    EXPECT_EQ(rows_of(request.tenant_id), 0);
    database.value("ROLLBACK");
    EXPECT_EQ(create_transaction(database.native(), request).outcome, Outcome::created);
    EXPECT_EQ(rows_of(request.tenant_id), 1);
}

TEST(Call, LeavesTheModeOfTheConnection)
{
    Database database;
    const Request request = make_request();
    for (const int mode : {0, 1}) {
        ASSERT_EQ(PQsetnonblocking(database.native(), mode), 0);
        create_transaction(database.native(), request);
        EXPECT_EQ(PQisnonblocking(database.native()), mode);
        EXPECT_EQ(sqlstate_of([&] {
                      Request other = request;
                      other.details = "no JSON";
                      create_transaction(database.native(), other);
                  }),
                  "22P02");
        EXPECT_EQ(PQisnonblocking(database.native()), mode);
    }
    EXPECT_TRUE(is_usable(database.native()));
}

TEST(Call, SendsNothingThatIsRefused)
{
    Database database;
    database.value("BEGIN");
    Request request = make_request();
    request.amount_minor = 0;
    EXPECT_EQ(sqlstate_of([&] { create_transaction(database.native(), request); }), "22023");
    request = make_request();
    request.details = "{}\xFF";
    EXPECT_EQ(sqlstate_of([&] { create_transaction(database.native(), request); }), "22021");
    EXPECT_EQ(PQtransactionStatus(database.native()), PQTRANS_INTRANS); // and not aborted
}

TEST(Call, RefusesAConnectionThatIsNotInOrder)
{
    Database database;
    const Request request = make_request();
    ASSERT_EQ(PQsendQuery(database.native(), "SELECT 1"), 1);
    EXPECT_EQ(sqlstate_of([&] { create_transaction(database.native(), request); }), "55000");
    while (PGresult *result = PQgetResult(database.native())) {
        PQclear(result);
    }
    ASSERT_EQ(PQenterPipelineMode(database.native()), 1);
    EXPECT_EQ(sqlstate_of([&] { create_transaction(database.native(), request); }), "55000");
    ASSERT_EQ(PQexitPipelineMode(database.native()), 1);
    ASSERT_EQ(PQsetClientEncoding(database.native(), "LATIN1"), 0);
    EXPECT_EQ(sqlstate_of([&] { create_transaction(database.native(), request); }), "22023");
    ASSERT_EQ(PQsetClientEncoding(database.native(), "UTF8"), 0);
    EXPECT_TRUE(is_usable(database.native()));

    Database().value("SELECT pg_terminate_backend(" + std::to_string(database.pid()) + ", 5000)");
    const std::string first = sqlstate_of([&] { create_transaction(database.native(), request); });
    EXPECT_TRUE(first == "57P01" || first == "08006") << first;
    EXPECT_EQ(sqlstate_of([&] { create_transaction(database.native(), request); }), "08006");
}

TEST(Call, FindsTheSchemaThatIsNamed)
{
    Database database;
    const std::string name = R"("odd ""schema'\")";
    database.value("CREATE SCHEMA " + name);
    database.value("CREATE FUNCTION " + name +
                   ".idem_create_transaction(text, text, bigint, text, jsonb, text, text, OUT transaction_id uuid, "
                   "OUT outcome idem_outcome, OUT amount_minor bigint, OUT currency text, OUT details jsonb, "
                   "OUT order_ref text, OUT created_at timestamptz) LANGUAGE sql AS "
                   "'SELECT gen_random_uuid(), ''replayed''::idem_outcome, 7::bigint, $4, $5, $7, now()'");
    const CallOptions there{.schema = R"(odd "schema'\)"};
    EXPECT_EQ(create_transaction(database.native(), make_request(), there).amount_minor, 7);
    // There is no idem_try_create_transaction in that schema, but what the mode `all` calls singly is.
    const std::vector<Request> requests{make_request()};
    EXPECT_EQ(sqlstate_of([&] { create_transactions(database.native(), requests, BatchMode::each, there); }), "42883");
    EXPECT_EQ(create_transactions(database.native(), requests, BatchMode::all, there).front().outcome,
              Outcome::replayed);
    EXPECT_TRUE(is_usable(database.native()));
    database.value("DROP SCHEMA " + name + " CASCADE");
}

// case H73
TEST(Call, IgnoresColumnsThatALaterVersionAdds)
{
    Database database;
    const auto define = [&](const std::string &column, const std::string &value) {
        database.value("DROP FUNCTION IF EXISTS later.idem_create_transaction");
        database.value(
            "CREATE FUNCTION later.idem_create_transaction(text, text, bigint, text, jsonb, text, text" + column +
            ", OUT transaction_id uuid, OUT outcome idem_outcome, OUT amount_minor bigint, OUT currency text, "
            "OUT details jsonb, OUT order_ref text, OUT created_at timestamptz) LANGUAGE sql AS 'SELECT " +
            value + " gen_random_uuid(), ''created''::idem_outcome, $3, $4, $5, $7, now()'");
    };
    database.value("CREATE SCHEMA later");
    define("", "");
    EXPECT_EQ(create_transaction(database.native(), make_request(), {.schema = "later"}).amount_minor, 4480);
    define(", OUT new_column text", "''new''::text,");
    EXPECT_EQ(create_transaction(database.native(), make_request(), {.schema = "later"}).amount_minor, 4480);
    database.value("DROP SCHEMA later CASCADE");
}

TEST(Call, EndsAtItsDeadline)
{
    Database holder;
    const Request request = make_request();
    holder.value("BEGIN");
    create_transaction(holder.native(), request);
    Database waiter;
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(sqlstate_of([&] { create_transaction(waiter.native(), request, {.timeout = milliseconds(200)}); }),
              "57014");
    const auto time = std::chrono::steady_clock::now() - start;
    EXPECT_GE(time, milliseconds(200));
    EXPECT_LT(time, milliseconds(1200));
    // The server has been told, and waits no more.
    EXPECT_TRUE(until(
        [&] { return holder.value("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") == "0"; }));
    holder.value("COMMIT");
    EXPECT_EQ(rows_of(request.tenant_id), 1);
}

TEST(Call, SaysThatAnotherTransactionIsAtWork)
{
    Database holder;
    const Request request = make_request();
    holder.value("BEGIN");
    create_transaction(holder.native(), request);
    Database waiter;
    waiter.value("SET idem.busy_timeout = 0");
    EXPECT_TRUE(error_of<InProgressError>([&] { create_transaction(waiter.native(), request); }));
    EXPECT_TRUE(error_of<InProgressError>([&] { try_create_transaction(waiter.native(), request); }));
    EXPECT_TRUE(is_usable(waiter.native()));
}

// case H71
TEST(Call, IsRefusedWhereNothingCanBeWritten)
{
    Database database;
    database.value("BEGIN READ ONLY");
    EXPECT_EQ(sqlstate_of([&] { create_transaction(database.native(), make_request()); }), "25006");
    database.value("ROLLBACK");
    EXPECT_TRUE(is_usable(database.native()));
}

} // namespace
} // namespace idem::client::test
