#include "history.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <fstream>

namespace idem::verify {

namespace {

using nlohmann::json;

constexpr std::array kKinds{Kind::once, Kind::create, Kind::attempt, Kind::batch};
constexpr std::array kOutcomes{Outcome::created, Outcome::replayed, Outcome::conflict, Outcome::order_taken,
                               Outcome::invalid};

// The member of an enumeration that has the given name.
template <typename List, typename Name>
auto named(const List &list, const std::string &text, Name name)
{
    const auto found = std::find_if(list.begin(), list.end(), [&](auto member) { return text == name(member); });
    if (found == list.end()) {
        throw HistoryError("unknown name \"" + text + "\"");
    }
    return *found;
}

// One file on its way into a History.
class Reader {
public:
    Reader(const std::string *name, History &history) : name_(name), history_(history) {}

    // Takes the next line.
    void take(int number, const json &line)
    {
        const std::string event = line.at("event");
        source_ = Source{name_, number};
        if (event == "start") {
            start(line);
        } else if (process_.empty()) {
            throw HistoryError("the process has not started");
        } else if (event == "send") {
            send(line);
        } else if (event == "ack") {
            end(line, acknowledged(line));
        } else if (event == "fail") {
            end(line, failed(line));
        } else if (event == "attempt") {
            history_.failed_attempts[line.at("sqlstate")]++;
        } else {
            throw HistoryError("unknown event \"" + event + "\"");
        }
    }

private:
    // What the process had in flight before has no ending.
    void start(const json &line)
    {
        process_ = line.at("process");
        run_ = line.at("run");
        history_.runs++;
        open_.clear();
    }

    void send(const json &line)
    {
        Call call{process_,
                  run_,
                  line.at("lane"),
                  line.at("number"),
                  named(kKinds, line.at("call"), [](Kind kind) { return to_string(kind); }),
                  {},
                  source_,
                  line.at("at")};
        for (const json &request : line.at("requests")) {
            call.requests.push_back(Posed{Scope{request.at("tenant"), request.at("operation"), request.at("key")},
                                          request.at("amount"), request.at("currency"), request.at("details")});
            if (request.contains("order_ref")) {
                call.requests.back().order_ref = request.at("order_ref");
            }
        }
        if (call.requests.empty() || (call.kind != Kind::batch && call.requests.size() != 1)) {
            throw HistoryError("a call with " + std::to_string(call.requests.size()) + " requests");
        }
        if (!open_.emplace(call.lane, history_.calls.size()).second) {
            throw HistoryError("the lane has a call already");
        }
        history_.calls.push_back(std::move(call));
    }

    static Ending acknowledged(const json &line)
    {
        Ending ending{{}, line.at("at"), line.at("attempts")};
        for (const json &answer : line.at("answers")) {
            ending.answers.push_back(Answer{
                named(kOutcomes, answer.at("outcome"), [](Outcome outcome) { return client::to_string(outcome); }),
                answer.value("id", "")});
        }
        return ending;
    }

    static Ending failed(const json &line)
    {
        return Ending{{}, line.at("at"), line.at("attempts"), {}, line.at("sqlstate"), line.at("in_doubt")};
    }

    // Gives the lane's open call its ending.
    void end(const json &line, Ending ending)
    {
        const auto open = open_.find(line.at("lane"));
        if (open == open_.end() || history_.calls[open->second].number != line.at("number")) {
            throw HistoryError("an end of a call that was not sent");
        }
        Call &call = history_.calls[open->second];
        if (ending.sqlstate.empty() && ending.answers.size() != call.requests.size()) {
            throw HistoryError("not one answer for each request");
        }
        ending.source = source_;
        call.ending = std::move(ending);
        open_.erase(open);
    }

    const std::string *name_;
    History &history_;
    Source source_;
    std::string process_;
    int run_ = 0;
    std::map<int, std::size_t> open_; // By lane.
};

// Whether the line says that a process has started.
bool is_start(const json &line)
{
    return line.is_object() && line.value("event", "") == "start";
}

} // namespace

void read_history(std::istream &input, const std::string &name, History &history)
{
    history.files.push_back(std::make_shared<const std::string>(name));
    Reader reader(history.files.back().get(), history);
    std::string text;
    int torn = 0;
    for (int number = 1; std::getline(input, text); number++) {
        const json line = json::parse(text, nullptr, false);
        if (torn != 0 && !is_start(line)) {
            throw HistoryError(name + ":" + std::to_string(torn) + ": not a line of JSON");
        }
        torn = line.is_discarded() ? number : 0;
        if (torn != 0) {
            continue;
        }
        try {
            reader.take(number, line);
        } catch (const std::exception &error) {
            throw HistoryError(name + ":" + std::to_string(number) + ": " + error.what());
        }
    }
}

History read_histories(const std::filesystem::path &folder)
{
    std::vector<std::filesystem::path> files;
    for (const auto &entry : std::filesystem::directory_iterator(folder)) {
        if (entry.path().extension() == ".jsonl") {
            files.push_back(entry.path());
        }
    }
    std::sort(files.begin(), files.end());
    History history;
    for (const auto &file : files) {
        std::ifstream input(file);
        if (!input) {
            throw HistoryError("could not open the history " + file.string());
        }
        read_history(input, file.filename().string(), history);
    }
    return history;
}

} // namespace idem::verify
