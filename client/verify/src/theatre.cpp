#include "theatre.hpp"

#include "asks.hpp"
#include "fault_maker.hpp"
#include "history.hpp"

#include <idem/client.hpp>

#include <chrono>
#include <csignal>
#include <iomanip>
#include <iostream>
#include <random>
#include <sstream>
#include <stdexcept>
#include <thread>

#include <poll.h>
#include <unistd.h>

namespace idem::verify {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kPatience = 90s;
constexpr auto kProgress = 5s;

volatile std::sig_atomic_t interrupted = 0;

// Lets a signal end the play in order, so that nothing is left behind. A second one ends it as ever.
void watch_interrupts()
{
    struct sigaction action = {};
    action.sa_handler = [](int signal) { interrupted = signal; };
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    for (const int signal : {SIGINT, SIGTERM}) {
        sigaction(signal, &action, nullptr);
    }
}

// A name that no other play has.
std::string make_name()
{
    std::random_device device;
    std::ostringstream name;
    name << std::hex << std::setfill('0') << std::setw(8) << device() << std::setw(8) << device();
    return name.str();
}

// Whether the standard input has ended.
bool input_ended()
{
    pollfd input{STDIN_FILENO, POLLIN, 0};
    char letter = 0;
    return poll(&input, 1, 0) > 0 && read(STDIN_FILENO, &letter, 1) <= 0;
}

// The business table as long as the play lasts. Connections of its own: those of the play may not live through it.
class BusinessTable {
public:
    BusinessTable(std::string dsn, std::string schema, bool keep)
        : dsn_(std::move(dsn)), schema_(std::move(schema)), keep_(keep)
    {
        Database(dsn_).make_business_table(schema_);
    }
    BusinessTable(const BusinessTable &) = delete;
    BusinessTable &operator=(const BusinessTable &) = delete;
    ~BusinessTable()
    {
        if (keep_) {
            return;
        }
        try {
            Database(dsn_).drop_business_table(schema_);
        } catch (const std::exception &error) {
            std::cerr << "could not drop the schema " << schema_ << ": " << error.what() << '\n';
        }
    }

private:
    std::string dsn_;
    std::string schema_;
    bool keep_;
};

// Whether the play has lasted as long as was asked for.
bool is_over(const PlayRequest &request, const Board &board, Clock::duration played)
{
    return (request.requests != 0 && board->sent >= request.requests) ||
           (request.seconds > 0 && played >= std::chrono::duration<double>(request.seconds)) ||
           (request.until_eof && input_ended());
}

// Tells how far the play is.
void print_progress(const Board &board, Clock::duration played, const FaultCounts &counts)
{
    std::uint64_t faults = 0;
    for (const auto &[name, count] : counts) {
        faults += count;
    }
    std::cerr << std::setw(5) << std::chrono::duration_cast<std::chrono::seconds>(played).count() << " s  "
              << board->sent << " calls, " << board->answered << " answered, " << board->in_doubt << " in doubt, "
              << faults << " faults\n";
}

// Lets the processes play until it is over, with faults; then without, until all have their answers.
void run(const PlayRequest &request, Supervisor &supervisor, FaultMaker &faults)
{
    const auto start = Clock::now();
    auto next_progress = start + kProgress;
    supervisor.start();
    while (!is_over(request, supervisor.board(), Clock::now() - start)) {
        if (interrupted != 0) {
            throw std::runtime_error("interrupted");
        }
        faults.make();
        supervisor.watch();
        if (!request.quiet && Clock::now() >= next_progress) {
            next_progress += kProgress;
            print_progress(supervisor.board(), Clock::now() - start, faults.counts());
        }
        std::this_thread::sleep_for(10ms);
    }
    faults.stop();
    supervisor.settle(kPatience);
}

// Reads what is left and checks it.
Outcomes conclude(Database &database, const Plan &plan, const std::filesystem::path &folder)
{
    Outcomes outcomes;
    outcomes.history = read_histories(folder);
    outcomes.tables = database.read_tables(plan.tenant, plan.schema);
    outcomes.violations = check(outcomes.history, outcomes.tables);
    return outcomes;
}

// The plan of a new play.
Plan make_plan(const PlayRequest &request, const Database &database, const std::string &name)
{
    Plan plan;
    plan.seed = request.seed;
    plan.processes = request.processes;
    plan.lanes = request.lanes;
    plan.keys = request.keys;
    plan.tenant = "idem-verify-" + name;
    plan.schema = "idem_verify_" + name;
    plan.idem_schema = database.idem_schema();
    plan.conninfos = request.play_dsns;
    plan.deadline = request.deadline;
    plan.redis = request.redis;
    return plan;
}

} // namespace

Outcomes play(const PlayRequest &request, const std::filesystem::path &folder)
{
    watch_interrupts();
    Database database(request.dsn);
    Plan plan = make_plan(request, database, make_name());
    std::map<std::string, std::string> replaced{{"application_name", plan.tenant}, {"client_encoding", ""}};
    std::optional<ProxyProcess> proxy;
    if (plan.conninfos.empty()) {
        if (request.fault_rate > 0 && !database.is_encrypted()) {
            proxy.emplace(database.address());
            replaced.insert({{"host", "127.0.0.1"},
                             {"hostaddr", ""},
                             {"port", proxy->port()},
                             {"sslmode", "disable"},
                             {"gssencmode", "disable"}});
        }
        plan.conninfos.push_back(database.conninfo(std::move(replaced)));
    }
    const BusinessTable table(request.dsn, plan.schema, request.keep);
    write_plan(folder, plan);
    FaultCounts counts;
    {
        Supervisor supervisor(folder, plan);
        FaultMaker faults(plan.seed, request.fault_rate, supervisor, database, plan.tenant, proxy ? &*proxy : nullptr);
        run(request, supervisor, faults);
        counts = faults.counts();
        counts["kill_process"] = supervisor.killed();
    }
    // For a check of its own the folder needs no password.
    client::ClientOptions options;
    options.conninfo = std::exchange(plan.conninfos, {}).front();
    options.schema = plan.idem_schema;
    write_plan(folder, plan);
    client::Client client(options);
    ask_for_all(client, read_histories(folder), folder);
    // The connection of the beginning may not have lived through the faults.
    Database survivor(request.dsn);
    Outcomes outcomes = conclude(survivor, plan, folder);
    outcomes.faults = std::move(counts);
    return outcomes;
}

Outcomes check_again(const PlayRequest &request, const std::filesystem::path &folder)
{
    Database database(request.dsn);
    return conclude(database, read_plan(folder), folder);
}

} // namespace idem::verify
