#include "reader.hpp"
#include "text_source.hpp"

#include <gtest/gtest.h>

namespace idem::cli::test {
namespace {

using MakeReader = std::unique_ptr<RecordReader> (*)(Buffered &, ReadOptions);

// What a reader makes of a text: `line key=amount details` for a request, `line fate reason` for a refusal.
std::vector<std::string> read(MakeReader make, const std::string &text, const ReadOptions &options = {},
                              std::size_t piece = 7)
{
    TextSource source(text, piece);
    Buffered input(source);
    const std::unique_ptr<RecordReader> reader = make(input, options);
    std::vector<std::string> records;
    while (const std::optional<Record> record = reader->next()) {
        std::string shown = std::to_string(record->line) + " ";
        if (const auto *refusal = std::get_if<Refusal>(&record->content)) {
            shown += std::string(to_string(refusal->fate)) + " " + refusal->sqlstate + " " + refusal->reason;
        } else {
            const auto &request = std::get<client::Request>(record->content);
            shown += request.tenant_id + "/" + request.key.text() + "=" + std::to_string(request.amount_minor) + " " +
                     request.details + " " + request.order_ref.value_or("-");
        }
        records.push_back(shown);
    }
    EXPECT_EQ(input.consumed(), text.size());
    return records;
}

using Lines = std::vector<std::string>;

constexpr char kLine[] = R"({"tenant_id":"t","idempotency_key":"k","amount_minor":5,"currency":"EUR"})";

TEST(JsonLines, ReadsOneRecordALine)
{
    const std::string text = std::string(kLine) + "\n\n" + kLine + "\r\n  \t\r\n" + kLine;
    for (const std::size_t piece : {1U, 7U, 100000U}) {
        EXPECT_EQ(read(json_lines_reader, text, {}, piece), (Lines{"1 t/k=5 {} -", "3 t/k=5 {} -", "5 t/k=5 {} -"}));
    }
    EXPECT_EQ(read(json_lines_reader, ""), Lines{});
    EXPECT_EQ(read(json_lines_reader, "\n\n"), Lines{});
}

TEST(JsonLines, SkipsAByteOrderMark)
{
    for (const std::size_t piece : {1U, 2U, 100U}) {
        EXPECT_EQ(read(json_lines_reader, std::string("\xEF\xBB\xBF") + kLine, {}, piece), Lines{"1 t/k=5 {} -"});
    }
    EXPECT_EQ(read(json_lines_reader, "\xEF\xBB\xBF"), Lines{});
    EXPECT_THROW(read(json_lines_reader, std::string("\xFF\xFE{\0", 4)), FileError);
    EXPECT_THROW(read(json_lines_reader, std::string("\xFE\xFF\0{", 4)), FileError);
}

TEST(JsonLines, KeepsDetailsAsTheyStand)
{
    const auto details = [](const std::string &json) {
        return read(json_lines_reader, R"({"tenant_id":"t","idempotency_key":"k","amount_minor":"9007199254740993",)"
                                       R"("currency":"EUR","details":)" +
                                           json + "}");
    };
    EXPECT_EQ(
        details(R"({"b": 1180591620717411303424, "a":0.10, "c":1e400, "d":-0, "a":"\u0041"})"),
        Lines{R"(1 t/k=9007199254740993 {"b": 1180591620717411303424, "a":0.10, "c":1e400, "d":-0, "a":"\u0041"} -)"});
    EXPECT_EQ(details(R"("{\"a\":\n 0.10}")"), Lines{"1 t/k=9007199254740993 {\"a\":\n 0.10} -"});
    EXPECT_EQ(details("null"), Lines{"1 t/k=9007199254740993 {} -"});
    EXPECT_EQ(details("[1]"), Lines{"1 unreadable  details is of the wrong JSON type"});
    EXPECT_EQ(details("7"), Lines{"1 unreadable  details is of the wrong JSON type"});
}

TEST(JsonLines, GoesOnAfterABadLine)
{
    const std::string text =
        std::string("{\"tenant_id\":}\n") + kLine + "\nnot JSON\n[]\n" +
        R"({"tenant_id":"t","idempotency_key":"k","amount_minor":5,"currency":"EUR","tenant_id":"u"})"
        "\n" +
        R"({"tenant_id":"t","idempotency_key":7,"amount_minor":5,"currency":"EUR"})"
        "\n" +
        "{\"tenant_id\":\"\xFF\"}\n" +
        R"({"tenant_id":"t","idempotency_key":"a\u0000b","amount_minor":5,"currency":"EUR"})"
        "\n" +
        kLine;
    EXPECT_EQ(
        read(json_lines_reader, text),
        (Lines{"1 unreadable  there is no JSON value where one should be", "2 t/k=5 {} -",
               "3 unreadable  it is not a JSON object", "4 unreadable  it is not a JSON object",
               "5 unreadable  tenant_id is there twice", "6 unreadable  idempotency_key is of the wrong JSON type",
               "7 unreadable 22021 it is not valid UTF-8",
               "8 invalid 22023 " + std::get<Refusal>(make_request({.tenant_id = "t",
                                                                    .idempotency_key = std::string("a\0b", 3),
                                                                    .amount_minor = "5",
                                                                    .currency = "EUR"}))
                                        .reason,
               "9 t/k=5 {} -"}));
}

TEST(JsonLines, PassesOverALineBeyondTheLimit)
{
    ReadOptions options;
    options.record_limit = 100;
    const std::string text = R"({"x":")" + std::string(300, 'x') + "\"}\n" + kLine;
    EXPECT_EQ(read(json_lines_reader, text, options),
              (Lines{"1 unreadable  it is longer than 100 octets", "2 t/k=5 {} -"}));
    options.record_limit = sizeof kLine - 1;
    EXPECT_EQ(read(json_lines_reader, kLine, options), Lines{"1 t/k=5 {} -"});
    options.record_limit = sizeof kLine - 2;
    EXPECT_EQ(read(json_lines_reader, kLine, options).at(0).substr(0, 12), "1 unreadable");
}

TEST(JsonLines, TakesTheTenantGivenWhereALineNamesNone)
{
    ReadOptions options;
    options.tenant_id = "given";
    const std::string text =
        R"({"idempotency_key":"k","amount_minor":5,"currency":"EUR"})"
        "\n" +
        std::string(R"({"tenant_id":null,"idempotency_key":"k","amount_minor":5,"currency":"EUR"})") + "\n" + kLine;
    EXPECT_EQ(read(json_lines_reader, text, options), (Lines{"1 given/k=5 {} -", "2 given/k=5 {} -", "3 t/k=5 {} -"}));
    EXPECT_EQ(read(json_lines_reader, text).at(0), "1 unreadable  tenant_id is missing");
}

TEST(JsonLines, RemembersTheNamesItPassedOver)
{
    TextSource source(R"({"instance":1,"tenant_id":"t","Currency":"EUR"})");
    Buffered input(source);
    const std::unique_ptr<RecordReader> reader = json_lines_reader(input, {});
    EXPECT_TRUE(reader->next().has_value());
    EXPECT_EQ(reader->ignored(), (std::set<std::string>{"Currency", "instance"}));
}

constexpr char kHeader[] = "tenant_id,idempotency_key,amount_minor,currency,details,order_ref";

TEST(Csv, ReadsRecordsWithQuotesAndLineEndsInThem)
{
    const std::string text = std::string(kHeader) + "\r\n" + "t,k,5,EUR,,\r\n" +
                             "t,\"k, \"\"2\"\"\",6,EUR,\"{\"\"a\"\":\r\n 0.10,\n\"\"b\"\":1e400}\",o-1\n" + "\n" +
                             R"("t","k3","7","EUR","","")";
    for (const std::size_t piece : {1U, 7U, 100000U}) {
        EXPECT_EQ(read(csv_reader, text, {}, piece),
                  (Lines{"2 t/k=5 {} -", "3 t/k, \"2\"=6 {\"a\":\r\n 0.10,\n\"b\":1e400} o-1", "7 t/k3=7 {} -"}));
    }
}

TEST(Csv, ReadsColumnsInAnyOrderAndSkipsAByteOrderMark)
{
    EXPECT_EQ(read(csv_reader, "\xEF\xBB\xBF"
                               "currency,note,amount_minor,idempotency_key,tenant_id\nEUR,x,5,k,t\n"),
              Lines{"2 t/k=5 {} -"});
}

TEST(Csv, GoesOnAfterABadLine)
{
    const std::string text = "tenant_id,idempotency_key,amount_minor,currency\n"
                             "t,k,5\n"
                             "t,k,5,EUR,more\n"
                             "t,k\"k,5,EUR\n"
                             "t,\"k\"k,5,EUR\n"
                             "t,k,5.0,EUR\n"
                             "t,k,0,EUR\n"
                             "t,\xFF,5,EUR\n"
                             "t,k,5,EUR\n";
    const Lines records = read(csv_reader, text);
    ASSERT_EQ(records.size(), 8U);
    EXPECT_EQ(records[0], "2 unreadable  it has 3 fields, and the header has 4");
    EXPECT_EQ(records[1], "3 unreadable  it has 5 fields, and the header has 4");
    EXPECT_EQ(records[2], "4 unreadable  a quote is in a field that does not begin with one");
    EXPECT_EQ(records[3], "5 unreadable  something follows the closing quote of a field");
    EXPECT_EQ(records[4], "6 unreadable  amount_minor must be a whole number, written in digits");
    EXPECT_EQ(records[5].substr(0, 15), "7 invalid 22023");
    EXPECT_EQ(records[6], "8 unreadable 22021 it is not valid UTF-8");
    EXPECT_EQ(records[7], "9 t/k=5 {} -");
}

TEST(Csv, SaysWhereAQuoteThatIsNotClosedBegan)
{
    const Lines records =
        read(csv_reader, "tenant_id,idempotency_key,amount_minor,currency\nt,k,5,EUR\nt,\"k,5,EUR\nt,k,5,EUR\n");
    ASSERT_EQ(records.size(), 2U);
    EXPECT_EQ(records[1].substr(0, 43), "3 unreadable  a quoted field is not closed:");
}

TEST(Csv, RefusesAFileWithoutAUsableHeader)
{
    for (const char *text :
         {"", "\n", "\xEF\xBB\xBF", "tenant_id,idempotency_key,amount_minor\n", "t,k,5,EUR\n",
          "tenant_id,idempotency_key,amount_minor,currency,currency\n",
          "tenant_id;idempotency_key;amount_minor;currency\n", "\"tenant_id\n",
          "idempotency_key,amount_minor,currency\n", "Tenant_id,idempotency_key,amount_minor,currency\n"}) {
        EXPECT_THROW(read(csv_reader, text), FileError) << text;
    }
    EXPECT_EQ(read(csv_reader, "tenant_id,idempotency_key,amount_minor,currency,x,x\n"), Lines{});
}

TEST(Csv, TakesTheTenantGivenWhereTheFileHasNone)
{
    ReadOptions options;
    options.tenant_id = "given";
    EXPECT_EQ(read(csv_reader, "idempotency_key,amount_minor,currency\nk,5,EUR\n", options), Lines{"2 given/k=5 {} -"});
    EXPECT_EQ(read(csv_reader, "tenant_id,idempotency_key,amount_minor,currency\n,k,5,EUR\nt,k,5,EUR\n", options),
              (Lines{"2 given/k=5 {} -", "3 t/k=5 {} -"}));
}

TEST(Csv, PassesOverARecordBeyondTheLimit)
{
    ReadOptions options;
    options.record_limit = 100;
    const std::string header = "tenant_id,idempotency_key,amount_minor,currency\n";
    for (const std::string &record : {"t,\"" + std::string(300, '\n') + "\",5,EUR",
                                      "t," + std::string(300, 'k') + ",5,EUR", std::string(300, ',')}) {
        const Lines records = read(csv_reader, header + record + "\nt,k,5,EUR\n", options);
        ASSERT_EQ(records.size(), 2U);
        EXPECT_EQ(records[0], "2 unreadable  it is longer than 100 octets");
        EXPECT_EQ(records[1].substr(records[1].find(' ')), " t/k=5 {} -");
    }
}

TEST(Csv, BoundsTheNumberOfFields)
{
    const std::string text =
        "tenant_id,idempotency_key,amount_minor,currency\n" + std::string(1000000, ',') + "\nt,k,5,EUR\n";
    EXPECT_EQ(read(csv_reader, text, {}, 65536), (Lines{"2 unreadable  it has too many fields", "3 t/k=5 {} -"}));
}

TEST(Readers, CountNoOctetsOfARecordThatIsTooLong)
{
    const std::string csv = "tenant_id,idempotency_key,amount_minor,currency\nt,k,5," + std::string(1000, 'E') + "\n";
    const std::string json = std::string(kLine).insert(1, 1000, ' ') + "\n";
    for (const auto &[make, text] :
         {std::pair(MakeReader{csv_reader}, csv), std::pair(MakeReader{json_lines_reader}, json)}) {
        TextSource source(text);
        Buffered input(source);
        const std::unique_ptr<RecordReader> reader = make(input, {.record_limit = 100});
        const std::optional<Record> record = reader->next();
        ASSERT_TRUE(record && std::holds_alternative<Refusal>(record->content));
        EXPECT_EQ(record->octets, 0U);
    }
}

} // namespace
} // namespace idem::cli::test
