#include "player.hpp"

#include "endings.hpp"
#include "lane.hpp"

#ifdef IDEM_CLIENT_CACHE
#include <idem/cache.hpp>
#endif

#include <algorithm>
#include <fstream>
#include <stdexcept>
#include <thread>

namespace idem::verify {

namespace {

using namespace std::chrono_literals;

// What earlier runs of the process have left in its history.
struct Past {
    int runs = 0;
    std::map<int, LanePast> lanes;
};

// Reads the history of a process, which is not there before its first run.
Past read_past(const std::filesystem::path &file)
{
    Past past;
    std::ifstream input(file);
    if (!input) {
        return past;
    }
    History history;
    read_history(input, file.filename().string(), history);
    past.runs = static_cast<int>(history.runs);
    for (const Call &call : history.calls) {
        LanePast &lane = past.lanes[call.lane];
        lane.next = std::max(lane.next, call.number + 1);
        if (call.ending && is_final(*call.ending)) {
            lane.open.erase(call.number);
        } else {
            lane.open.insert(call.number);
        }
        for (std::size_t place = 0; call.ending && place < call.ending->answers.size(); place++) {
            if (!call.ending->answers[place].id.empty()) {
                lane.acknowledged.insert(call.requests[place].scope);
            }
        }
    }
    return past;
}

#ifdef IDEM_CLIENT_CACHE
// The cache at `host:port`.
std::shared_ptr<client::ResultCache> make_cache(const std::string &address)
{
    const std::size_t colon = address.rfind(':');
    cache::RedisOptions options;
    options.host = address.substr(0, colon);
    options.port = static_cast<std::uint16_t>(std::stoul(address.substr(colon + 1)));
    // Failures are what the play is about.
    options.warn = [](std::string_view) {};
    return std::make_shared<cache::Redis>(options);
}
#else
std::shared_ptr<client::ResultCache> make_cache(const std::string &)
{
    throw std::runtime_error("this program was built without the cache");
}
#endif

// The client of all lanes of a process.
client::ClientOptions options_of(const Plan &plan, int process, HistoryWriter &history)
{
    client::ClientOptions options;
    options.conninfo = plan.conninfo_of(process);
    options.schema = plan.idem_schema;
    options.pool_size = static_cast<std::size_t>(plan.lanes);
    options.connect_timeout = 500ms;
    options.retry.deadline = std::chrono::milliseconds(plan.deadline);
    options.on_attempt = [&history](const client::Attempt &attempt) { Lane::note_attempt(history, attempt); };
    if (!plan.redis.empty() && process % 2 == 1) {
        options.cache = make_cache(plan.redis);
    }
    return options;
}

} // namespace

void play_process(const std::filesystem::path &folder, int process)
{
    const Plan plan = read_plan(folder);
    const std::filesystem::path file = Plan::history_of(folder, process);
    Past past = read_past(file);
    Board board = Board::join(folder);
    HistoryWriter history(file, std::to_string(process), past.runs);
    const Script script(plan.seed, plan.tenant, plan.keys);
    client::Client client(options_of(plan, process, history));
    Stage stage{plan, script, board, history, client, process, past.runs};
    // What a lane throws ends the process: its history can no longer be trusted to be complete.
    std::vector<std::thread> threads;
    threads.reserve(static_cast<std::size_t>(plan.lanes));
    for (int lane = 0; lane < plan.lanes; lane++) {
        threads.emplace_back([&stage, lane, of_lane = std::move(past.lanes[lane])]() mutable {
            Lane(stage, lane, std::move(of_lane)).run();
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
}

bool has_cache() noexcept
{
#ifdef IDEM_CLIENT_CACHE
    return true;
#else
    return false;
#endif
}

} // namespace idem::verify
