#include "history.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace idem::verify {
namespace {

// A folder that is gone at the end of the test.
class HistoryFile : public testing::Test {
protected:
    HistoryFile() : folder_(std::filesystem::temp_directory_path() / "idem-history-XXXXXX")
    {
        std::string name = folder_.string();
        folder_ = mkdtemp(name.data());
    }
    ~HistoryFile() override { std::filesystem::remove_all(folder_); }

    [[nodiscard]] std::filesystem::path file() const { return folder_ / "process-0.jsonl"; }

    std::filesystem::path folder_;
};

const std::string kStart = R"({"at":1,"event":"start","process":"0","run":0,"pid":7})"
                           "\n";
const std::string kSend =
    R"({"at":2,"event":"send","lane":0,"number":5,"call":"create","requests":[{"tenant":"t","operation":"o",)"
    R"("key":"k","amount":1,"currency":"EUR","details":"{}"}]})"
    "\n";

// Reads a history from a text.
History read(const std::string &text)
{
    std::istringstream input(text);
    History history;
    read_history(input, "text", history);
    return history;
}

TEST_F(HistoryFile, GivesBackWhatWasWritten)
{
    Posed posed{{"tenant \"a\"", "pay", "kéy"}, 12, "EUR", R"({"a": "\u00e9\\"})", "o 1"};
    Posed second = posed;
    second.order_ref.reset();
    {
        HistoryWriter writer(file(), "0", 3);
        writer.send(1, 7, Kind::batch, {posed, second});
        writer.acknowledge(1, 7, 2, {{Outcome::created, "id"}, {Outcome::conflict}});
        writer.send(1, 8, Kind::once, {posed});
        writer.failed_attempt(1, 8, 1, "08006", false, "host:1");
        writer.fail(1, 8, 4, "57014", true);
        writer.send(1, 9, Kind::attempt, {posed});
    }
    const History history = read_histories(folder_);
    ASSERT_EQ(history.calls.size(), 3U);
    const Call &batch = history.calls[0];
    EXPECT_EQ(batch.process, "0");
    EXPECT_EQ(batch.run, 3);
    EXPECT_EQ(batch.lane, 1);
    EXPECT_EQ(batch.number, 7U);
    EXPECT_EQ(batch.kind, Kind::batch);
    EXPECT_EQ(batch.requests, (std::vector{posed, second}));
    EXPECT_EQ(batch.source.line, 2);
    EXPECT_EQ(*batch.source.file, "process-0.jsonl");
    ASSERT_TRUE(batch.ending);
    EXPECT_EQ(batch.ending->attempts, 2);
    EXPECT_EQ(batch.ending->answers.at(0).outcome, Outcome::created);
    EXPECT_EQ(batch.ending->answers.at(0).id, "id");
    EXPECT_EQ(batch.ending->answers.at(1).outcome, Outcome::conflict);
    EXPECT_GE(batch.ending->at, batch.at);
    const Call &once = history.calls[1];
    ASSERT_TRUE(once.ending);
    EXPECT_EQ(once.kind, Kind::once);
    EXPECT_EQ(once.ending->sqlstate, "57014");
    EXPECT_TRUE(once.ending->in_doubt);
    EXPECT_EQ(history.failed_attempts.at("08006"), 1U);
    EXPECT_EQ(history.calls[2].kind, Kind::attempt);
    EXPECT_FALSE(history.calls[2].ending);
}

TEST_F(HistoryFile, GoesOnAfterATornLine)
{
    std::ofstream(file()) << kStart << kSend << kSend.substr(0, 30);
    {
        HistoryWriter writer(file(), "0", 1);
        writer.send(0, 5, Kind::create, {Posed{{"t", "o", "k"}, 1, "EUR"}});
    }
    const History history = read_histories(folder_);
    EXPECT_EQ(history.runs, 2U);
    ASSERT_EQ(history.calls.size(), 2U);
    EXPECT_EQ(history.calls[0].run, 0);
    EXPECT_EQ(history.calls[1].run, 1);
    EXPECT_FALSE(history.calls[0].ending);
}

TEST(History, TakesATornEnd)
{
    EXPECT_EQ(read(kStart + kSend + R"({"at":3,"ev)").calls.size(), 1U);
}

TEST(History, RefusesATornLineInTheMiddle)
{
    EXPECT_THROW(read(kStart + R"({"at":3,"ev)" + "\n" + kSend), HistoryError);
}

TEST(History, RefusesWhatNoProcessWrites)
{
    const std::string ack =
        R"({"at":3,"event":"ack","lane":0,"number":5,"attempts":1,"answers":[{"outcome":"created","id":"1"}]})";
    EXPECT_NO_THROW(read(kStart + kSend + ack));
    EXPECT_THROW(read(kSend), HistoryError) << "before the process has started";
    EXPECT_THROW(read(kStart + ack), HistoryError) << "an answer to nothing";
    EXPECT_THROW(read(kStart + kSend + ack + "\n" + ack), HistoryError) << "a second answer";
    EXPECT_THROW(read(kStart + kSend + kSend), HistoryError) << "two calls in one lane";
    EXPECT_THROW(read(kStart + kSend + kStart + ack), HistoryError) << "an answer to a call of an earlier run";
    EXPECT_THROW(read(kStart + R"({"at":3,"event":"other"})"), HistoryError);
    EXPECT_THROW(read(kStart + R"({"at":3,"event":"send","lane":0,"number":5,"call":"create","requests":[]})"),
                 HistoryError);
    EXPECT_THROW(read(kStart + kSend + R"({"at":3,"event":"ack","lane":0,"number":5,"attempts":1,"answers":[]})"),
                 HistoryError);
    EXPECT_THROW(read(kStart + "[]\n" + kStart), HistoryError);
}

} // namespace
} // namespace idem::verify
