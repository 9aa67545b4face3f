#include "exit_code.hpp"
#include "json_text.hpp"
#include "progress.hpp"
#include "show_row.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace idem::cli::test {
namespace {

TEST(JsonText, WritesMembersInTheirOrder)
{
    JsonObject object;
    EXPECT_EQ(object.str(), "{}");
    object.text("a", "say \"hi\"\n");
    object.number("n", INT64_MIN);
    object.raw("r", "[0.10]");
    object.text_or_null("o", std::nullopt);
    EXPECT_EQ(object.str(), R"({"a": "say \"hi\"\n", "n": -9223372036854775808, "r": [0.10], "o": null})");
}

TEST(JsonText, KeepsATerminalSafe)
{
    EXPECT_EQ(printable("plain é \"quoted\" \\ end\\"), "plain é \"quoted\" \\ end\\");
    EXPECT_EQ(printable("\x1b[2J\n\u009b\u2028\x7f"), "\\u001b[2J\\n\\u009b\\u2028\\u007f");
    EXPECT_EQ(printable(""), "");
}

TEST(ShowRow, WritesMomentsInUtc)
{
    using namespace std::chrono;
    EXPECT_EQ(to_text(client::Timestamp(sys_days(2026y / January / 31) + 9h + 5min + 7s + 42us)),
              "2026-01-31T09:05:07.000042Z");
    EXPECT_EQ(to_text(client::Timestamp(sys_days(1969y / December / 31) + 23h + 59min + 59s + 999999us)),
              "1969-12-31T23:59:59.999999Z");
}

TEST(ShowRow, ShowsARowToReadersAndPrograms)
{
    const client::Request request{.tenant_id = "t", .key = client::Key("k\"1"), .amount_minor = 1, .currency = "EUR"};
    client::Result result;
    result.outcome = client::Outcome::replayed;
    result.transaction_id = "0190a5c4-8a3e-7c1d-9f00-3a1b2c4d5e6f";
    result.amount_minor = 9007199254740993;
    result.currency = "EUR";
    result.details = R"({"n": 0.10})";
    std::ostringstream json;
    print_cells_json(json, cells_of(request, result));
    EXPECT_EQ(json.str(),
              "{\"outcome\": \"replayed\", \"transaction_id\": \"0190a5c4-8a3e-7c1d-9f00-3a1b2c4d5e6f\", "
              "\"tenant_id\": \"t\", \"operation\": \"create-transaction\", \"idempotency_key\": \"k\\\"1\", "
              "\"amount_minor\": 9007199254740993, \"currency\": \"EUR\", \"details\": {\"n\": 0.10}, "
              "\"order_ref\": null, \"created_at\": \"1970-01-01T00:00:00.000000Z\"}\n");
    std::ostringstream text;
    print_cells(text, cells_of(request, result));
    EXPECT_NE(text.str().find("idempotency_key  k\"1\n"), std::string::npos);
    EXPECT_NE(text.str().find("\ndetails          {\"n\": 0.10}\norder_ref\ncreated_at"), std::string::npos);
}

TEST(ShowRow, ShowsTheEndsOfTimeAsTheServerDoes)
{
    EXPECT_EQ(to_text(client::Timestamp::max()), "infinity");
    EXPECT_EQ(to_text(client::Timestamp::min()), "-infinity");
}

TEST(ShowRow, ShowsNothingOfARowThatIsNotThere)
{
    const client::Request request{.tenant_id = "t", .key = client::Key("k"), .amount_minor = 1, .currency = "EUR"};
    client::Result result;
    result.outcome = client::Outcome::conflict;
    std::ostringstream json;
    print_cells_json(json, cells_of(request, result));
    EXPECT_EQ(json.str(),
              "{\"outcome\": \"conflict\", \"transaction_id\": null, \"tenant_id\": \"t\", \"operation\": "
              "\"create-transaction\", \"idempotency_key\": \"k\", \"amount_minor\": null, \"currency\": null, "
              "\"details\": null, \"order_ref\": null, \"created_at\": null}\n");
}

TEST(ExitCode, TellsErrorsApart)
{
    using client::Error;
    EXPECT_EQ(exit_code(client::ConflictError("ID001", "")), kConflict);
    EXPECT_EQ(exit_code(client::ConflictError("ID003", "")), kConflict);
    EXPECT_EQ(exit_code(client::InProgressError("ID002", "")), kBusy);
    EXPECT_EQ(exit_code(client::InDoubtError("ID006", "")), kInDoubt);
    EXPECT_EQ(exit_code(client::RetriesExhausted(Error("08006", ""), 3, true)), kInDoubt);
    EXPECT_EQ(exit_code(client::RetriesExhausted(Error("08006", ""), 3, false)), kConnection);
    EXPECT_EQ(exit_code(client::RetriesExhausted(Error("40P01", ""), 3, false)), kBusy);
    for (const auto &[state, code] : {std::pair{"08001", kConnection},
                                      {"53300", kConnection},
                                      {"28P01", kConnection},
                                      {"3D000", kConnection},
                                      {"57P03", kConnection},
                                      {"25006", kConnection},
                                      {"55P03", kBusy},
                                      {"57014", kBusy},
                                      {"22023", kInvalid},
                                      {"22P02", kInvalid},
                                      {"54000", kInvalid},
                                      {"23505", kInvalid},
                                      {"42883", kFailed},
                                      {"55000", kFailed},
                                      {"XX001", kFailed},
                                      {"", kFailed}}) {
        EXPECT_EQ(exit_code(Error(state, "")), code) << state;
    }
}

TEST(ExitCode, PrintsWhatTheErrorSays)
{
    std::ostringstream out;
    print_error(out, client::Error("ID001", "key was used", "It differs.", "Use a new key."));
    EXPECT_EQ(out.str(), "idem: key was used (ID001)\ndetail: It differs.\nhint: Use a new key.\n");
    std::ostringstream bare;
    print_error(bare, client::Error("08001", "first line\nsecond\x1b line"));
    EXPECT_EQ(bare.str(), "idem: first line\n    second\\u001b line (08001)\n");
}

TEST(ProgressLine, ShowsABarRateAndTheTimeLeft)
{
    ProgressState state{.records = 500, .octets = 250, .all_octets = 1000, .elapsed = std::chrono::seconds(20)};
    EXPECT_EQ(progress_line(state), "[======                  ]  25 %  500 records  25/s  1:00 left");
    state.octets = 1000;
    EXPECT_EQ(progress_line(state), "[========================] 100 %  500 records  25/s");
    state.octets = 2000;
    EXPECT_EQ(progress_line(state), "[========================] 100 %  500 records  25/s");
    state.octets = 1;
    state.elapsed = std::chrono::seconds(4);
    EXPECT_EQ(progress_line(state), "[                        ]   0 %  500 records  125/s  1:06:36 left");
    EXPECT_EQ(progress_line({.records = 9, .octets = 5}), "9 records");
    EXPECT_EQ(progress_line({.records = 0, .octets = 0, .all_octets = 0}),
              "[                        ]   0 %  0 records");
    state = {.records = UINT64_MAX, .octets = 1, .all_octets = 1'000'000, .elapsed = std::chrono::hours(90)};
    EXPECT_EQ(progress_line(state).size(), 79U);
}

TEST(Progress, DrawsOnATerminalAndWritesLinesElsewhere)
{
    const auto at = [](double seconds) {
        return ProgressState{
            .records = 10, .octets = 1, .all_octets = 2, .elapsed = std::chrono::duration<double>(seconds)};
    };
    std::ostringstream bar;
    Progress drawn(Progress::Kind::bar, bar);
    drawn.show(at(1));
    drawn.show(at(1.05));
    EXPECT_EQ(bar.str().size(), 80U);
    drawn.show(at(1.2));
    EXPECT_EQ(bar.str().size(), 160U);
    drawn.clear();
    EXPECT_EQ(bar.str().substr(160), "\r" + std::string(79, ' ') + "\r");

    std::ostringstream lines;
    Progress written(Progress::Kind::lines, lines);
    for (int second = 0; second <= 11; ++second) {
        written.show(at(second));
    }
    written.clear();
    const std::string text = lines.str();
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
    EXPECT_EQ(text.find('\r'), std::string::npos);

    std::ostringstream nothing;
    Progress silent(Progress::Kind::none, nothing);
    silent.show(at(100));
    silent.clear();
    EXPECT_EQ(nothing.str(), "");
}

} // namespace
} // namespace idem::cli::test
