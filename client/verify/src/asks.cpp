#include "asks.hpp"

#include "history.hpp"
#include "posed.hpp"

#include <idem/client.hpp>

#include <algorithm>
#include <map>

namespace idem::verify {

namespace {

constexpr std::size_t kBatch = 500;
constexpr const char *kName = "asks";

// A request for each scope of which a row was given back, with the content that it was given for.
std::vector<Posed> acknowledged_requests(const History &history)
{
    std::map<Scope, const Posed *> requests;
    for (const Call &call : history.calls) {
        for (std::size_t place = 0; call.ending && place < call.ending->answers.size(); place++) {
            if (!call.ending->answers[place].id.empty()) {
                requests.emplace(call.requests[place].scope, &call.requests[place]);
            }
        }
    }
    std::vector<Posed> result;
    result.reserve(requests.size());
    for (const auto &[scope, request] : requests) {
        result.push_back(*request);
    }
    return result;
}

// Makes one call for some requests.
void ask(client::Client &client, HistoryWriter &history, std::uint64_t number, const std::vector<Posed> &posed)
{
    history.send(0, number, Kind::batch, posed);
    try {
        history.acknowledge(0, number, 1, ask_together(client, posed));
    } catch (const client::Error &error) {
        history.fail(0, number, error.attempts(), error.sqlstate(), is_in_doubt(error));
    }
}

} // namespace

void ask_for_all(client::Client &client, const History &history, const std::filesystem::path &folder)
{
    const std::vector<Posed> requests = acknowledged_requests(history);
    HistoryWriter writer(folder / (std::string(kName) + ".jsonl"), kName, 0);
    std::uint64_t number = 0;
    for (std::size_t begin = 0; begin < requests.size(); begin += kBatch) {
        const auto first = requests.begin() + static_cast<std::ptrdiff_t>(begin);
        const auto count = static_cast<std::ptrdiff_t>(std::min(kBatch, requests.size() - begin));
        ask(client, writer, number++, std::vector<Posed>(first, first + count));
    }
}

} // namespace idem::verify
