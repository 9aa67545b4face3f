#include "history.hpp"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <ctime>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace idem::verify {

namespace {

using Json = nlohmann::ordered_json;

// A line of the given event, to which the caller adds.
Json event(const char *name)
{
    return {{"at", history_clock()}, {"event", name}};
}

// A line about a call.
Json event(const char *name, int lane, std::uint64_t number)
{
    Json line = event(name);
    line["lane"] = lane;
    line["number"] = number;
    return line;
}

// Whether the file's last line has no end, because its process was killed while it wrote.
bool is_torn(int file)
{
    struct stat facts = {};
    char last = '\n';
    return fstat(file, &facts) == 0 && facts.st_size > 0 && pread(file, &last, 1, facts.st_size - 1) == 1 &&
           last != '\n';
}

} // namespace

std::int64_t history_clock() noexcept
{
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000;
}

HistoryWriter::HistoryWriter(const std::filesystem::path &file, std::string_view process, int run)
    : file_(open(file.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600))
{
    if (file_ < 0) {
        throw std::system_error(errno, std::generic_category(), "could not open the history " + file.string());
    }
    Json line = event("start");
    line["process"] = process;
    line["run"] = run;
    line["pid"] = getpid();
    append((is_torn(file_) ? "\n" : "") + line.dump());
}

HistoryWriter::~HistoryWriter()
{
    close(file_);
}

void HistoryWriter::send(int lane, std::uint64_t number, Kind kind, const std::vector<Posed> &requests)
{
    Json line = event("send", lane, number);
    line["call"] = to_string(kind);
    line["requests"] = Json::array();
    for (const Posed &request : requests) {
        Json &member = line["requests"].emplace_back(Json{{"tenant", request.scope.tenant_id},
                                                          {"operation", request.scope.operation},
                                                          {"key", request.scope.key},
                                                          {"amount", request.amount_minor},
                                                          {"currency", request.currency},
                                                          {"details", request.details}});
        if (request.order_ref) {
            member["order_ref"] = *request.order_ref;
        }
    }
    append(line.dump());
}

void HistoryWriter::acknowledge(int lane, std::uint64_t number, int attempts, const std::vector<Answer> &answers)
{
    Json line = event("ack", lane, number);
    line["attempts"] = attempts;
    line["answers"] = Json::array();
    for (const Answer &answer : answers) {
        Json &member = line["answers"].emplace_back(Json{{"outcome", client::to_string(answer.outcome)}});
        if (!answer.id.empty()) {
            member["id"] = answer.id;
        }
    }
    append(line.dump());
}

void HistoryWriter::fail(int lane, std::uint64_t number, int attempts, std::string_view sqlstate, bool in_doubt)
{
    Json line = event("fail", lane, number);
    line["attempts"] = attempts;
    line["sqlstate"] = sqlstate;
    line["in_doubt"] = in_doubt;
    append(line.dump());
}

void HistoryWriter::failed_attempt(int lane, std::uint64_t number, int attempt, std::string_view sqlstate,
                                   bool commit_known, std::string_view instance)
{
    Json line = event("attempt", lane, number);
    line["attempt"] = attempt;
    line["sqlstate"] = sqlstate;
    line["commit_known"] = commit_known;
    line["instance"] = instance;
    append(line.dump());
}

// A short write would tear a line in the middle of a file, which a reader could not tell from a false one.
void HistoryWriter::append(const std::string &line)
{
    const std::string text = line + "\n";
    const std::lock_guard lock(mutex_);
    const ssize_t written = write(file_, text.data(), text.size());
    if (written != static_cast<ssize_t>(text.size())) {
        throw std::system_error(written < 0 ? errno : ENOSPC, std::generic_category(), "could not write the history");
    }
}

} // namespace idem::verify
