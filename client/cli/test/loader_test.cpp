#include "loader.hpp"

#include <idem/error.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <sstream>
#include <unistd.h>

namespace idem::cli::test {
namespace {

Record request(std::uint64_t line, const std::string &key, std::size_t octets = 1)
{
    return {line, octets,
            make_request({.tenant_id = "t", .idempotency_key = key, .amount_minor = "1", .currency = "EUR"})};
}

Record unreadable(std::uint64_t line)
{
    return {line, 0, Refusal{Fate::unreadable, "", "it is not a JSON object"}};
}

/// A server that knows outcomes by keys, cannot read the key `bad`, and is gone for the key `gone`.
struct Server {
    std::map<std::string, client::Outcome> outcomes;
    std::vector<std::size_t> batches;
    std::vector<std::string> served;

    std::vector<client::BatchResult> operator()(std::span<const client::Request> requests)
    {
        batches.push_back(requests.size());
        for (const client::Request &request : requests) {
            if (request.key.text() == "bad") {
                throw client::Error("22003", "value overflows numeric format");
            }
            if (request.key.text() == "gone") {
                throw client::Error("08006", "server closed the connection unexpectedly");
            }
        }
        std::vector<client::BatchResult> results;
        for (const client::Request &request : requests) {
            served.push_back(request.key.text());
            const auto found = outcomes.find(request.key.text());
            const client::Outcome outcome = found == outcomes.end() ? client::Outcome::created : found->second;
            client::BatchResult result;
            result.outcome = outcome;
            if (outcome == client::Outcome::conflict) {
                result.sqlstate = "ID001";
            }
            results.push_back(result);
        }
        return results;
    }
};

class LoaderTest : public testing::Test {
protected:
    Loader loader(Loader::Limits limits = {}) { return {std::ref(server), report, limits}; }
    std::string refused() const
    {
        std::ifstream file(name);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    ~LoaderTest() override { std::filesystem::remove(name); }

    std::string name = testing::TempDir() + "idem_loader." + std::to_string(::getpid());
    Server server;
    LoadReport report{name};
};

TEST_F(LoaderTest, SendsFullBatchesAndWhatIsLeft)
{
    Loader load = loader({.records = 3});
    for (std::uint64_t line = 1; line <= 8; ++line) {
        load.add(request(line, "k" + std::to_string(line)));
    }
    EXPECT_EQ(report.records(), 6U);
    load.flush();
    EXPECT_EQ(server.batches, (std::vector<std::size_t>{3, 3, 2}));
    EXPECT_EQ(report.counted(Fate::created), 8U);
    EXPECT_FALSE(report.any_refused());
    load.flush();
    EXPECT_EQ(server.batches.size(), 3U);
}

TEST_F(LoaderTest, MakesSmallerBatchesOfLongRecords)
{
    Loader load = loader({.records = 1000, .octets = 100});
    for (std::uint64_t line = 1; line <= 4; ++line) {
        load.add(request(line, "k", 60));
    }
    EXPECT_EQ(server.batches, (std::vector<std::size_t>{2, 2}));
}

TEST_F(LoaderTest, ReportsRefusedRecordsInTheirOrder)
{
    server.outcomes = {
        {"c", client::Outcome::conflict}, {"r", client::Outcome::replayed}, {"o", client::Outcome::order_taken}};
    Loader load = loader();
    load.add(unreadable(1));
    load.add(request(2, "k"));
    load.add(request(5, "c"));
    load.add(unreadable(6));
    load.add(request(7, "r"));
    load.add(request(9, "o"));
    load.flush();
    EXPECT_EQ(
        refused(),
        "{\"line\": 1, \"outcome\": \"unreadable\", \"sqlstate\": null, \"reason\": \"it is not a JSON object\"}\n"
        "{\"line\": 5, \"outcome\": \"conflict\", \"sqlstate\": \"ID001\", \"reason\": \"the key belongs to a request "
        "with "
        "other content\"}\n"
        "{\"line\": 6, \"outcome\": \"unreadable\", \"sqlstate\": null, \"reason\": \"it is not a JSON object\"}\n"
        "{\"line\": 9, \"outcome\": \"order_taken\", \"sqlstate\": null, \"reason\": \"the order_ref has a transaction "
        "with "
        "another key\"}\n");
    EXPECT_EQ(report.counted(Fate::created), 1U);
    EXPECT_EQ(report.counted(Fate::replayed), 1U);
    EXPECT_TRUE(report.any_refused());
}

TEST_F(LoaderTest, FindsTheRequestThatTheServerCannotRead)
{
    Loader load = loader();
    for (std::uint64_t line = 1; line <= 100; ++line) {
        load.add(request(line, line == 63 ? "bad" : "k" + std::to_string(line)));
    }
    load.flush();
    EXPECT_EQ(report.counted(Fate::created), 99U);
    EXPECT_EQ(report.counted(Fate::invalid), 1U);
    EXPECT_EQ(refused(),
              "{\"line\": 63, \"outcome\": \"invalid\", \"sqlstate\": \"22003\", \"reason\": \"value overflows numeric "
              "format\"}\n");
    EXPECT_EQ(server.served.size(), 99U);
    EXPECT_EQ(server.served[61], "k62");
    EXPECT_EQ(server.served[62], "k64");
}

TEST_F(LoaderTest, ReportsWhatWasAnsweredBeforeTheServerWent)
{
    Loader load = loader({.records = 4});
    load.add(request(1, "a"));
    load.add(request(2, "b"));
    load.add(request(3, "bad"));
    EXPECT_THROW(load.add(request(4, "gone")), client::Error);
    EXPECT_EQ(report.counted(Fate::created), 2U);
    EXPECT_EQ(report.counted(Fate::invalid), 1U);
    EXPECT_EQ(report.records(), 3U);
}

TEST_F(LoaderTest, DoesNotSplitABatchForTheDatabase)
{
    Loader load = loader({.records = 2});
    load.add(request(1, "a"));
    EXPECT_THROW(load.add(request(2, "gone")), client::Error);
    EXPECT_EQ(server.batches, std::vector<std::size_t>{2});
    EXPECT_EQ(report.records(), 0U);
}

TEST(Loader, KnowsErrorsOfRequestsFromThoseOfTheDatabase)
{
    for (const char *state : {"22P02", "22P05", "22003", "22021", "54000", "54001", "23505", "23514", "P0001"}) {
        EXPECT_TRUE(concerns_a_request(state)) << state;
    }
    for (const char *state :
         {"08006", "40001", "42501", "42883", "55000", "57014", "53100", "ID002", "25006", "XX001"}) {
        EXPECT_FALSE(concerns_a_request(state)) << state;
    }
}

TEST(LoadReport, ShowsCountsAndTheFirstLines)
{
    LoadReport report;
    report.count(Fate::created);
    report.count(Fate::created);
    for (std::uint64_t line = 10; line < 17; ++line) {
        report.refuse(line, {Fate::conflict, "ID001", ""});
    }
    report.refuse(20, {Fate::unreadable, "", ""});
    std::ostringstream out;
    report.print(out, std::chrono::seconds(2), true);
    EXPECT_EQ(out.str(), "10 records in 2.0 s (5/s)\n"
                         "  created               2\n"
                         "  replayed              0\n"
                         "  conflict              7   line 10, 11, 12, 13, 14, ...\n"
                         "  order_taken           0\n"
                         "  invalid               0\n"
                         "  unreadable            1   line 20\n");
    std::ostringstream json;
    report.print_json(json, std::chrono::milliseconds(1500));
    EXPECT_EQ(json.str(),
              "{\"records\": 10, \"created\": 2, \"replayed\": 0, \"valid\": 0, \"conflict\": 7, "
              "\"order_taken\": 0, \"invalid\": 0, \"unreadable\": 1, \"first_lines\": {\"conflict\": [10, 11, "
              "12, 13, 14, 15, 16], \"unreadable\": [20]}, \"seconds\": 1.500}\n");
}

TEST(LoadReport, ShowsOfACheckWhatACheckCanTell)
{
    LoadReport report;
    report.count(Fate::valid);
    std::ostringstream out;
    report.print(out, std::chrono::seconds(0), false);
    EXPECT_EQ(out.str(), "1 records in 0.0 s\n"
                         "  valid                 1\n"
                         "  invalid               0\n"
                         "  unreadable            0\n");
}

TEST(LoadReport, SaysThatItsFileCannotBeWritten)
{
    EXPECT_ANY_THROW(LoadReport("/nowhere/at/all"));
    LoadReport full("/dev/full");
    full.refuse(1, {Fate::invalid, "22023", ""});
    EXPECT_ANY_THROW(full.flush());
}

} // namespace
} // namespace idem::cli::test
