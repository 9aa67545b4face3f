#include "verify_command.hpp"

#include "player.hpp"
#include "supervisor.hpp"
#include "theatre.hpp"

#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>
#include <random>

namespace idem::verify {

namespace {

// What the command line says.
struct Arguments {
    PlayRequest request;
    std::string history;
    std::string check_only;
    bool tap = false;
    bool asks_for_cache = false;
    int process = -1;
};

constexpr const char *kFooter =
    "Many processes make the same calls at the same time, with one key each per request, while\n"
    "connections are cut before and after COMMIT, answers are swallowed, sessions are ended and\n"
    "processes are killed. Then all answers are compared with what is stored.\n\n"
    "It is for a test database: it leaves rows in the ledger, of tenants that begin with\n"
    "idem-verify-, because the ledger is append-only. Its own schema idem_verify_... it drops. The\n"
    "role needs what idem_grant gives, and CREATE on the database. Faults are made to its own\n"
    "connections and processes alone.\n\n"
    "Examples:\n"
    "  idem verify --seconds 30\n"
    "  idem verify --processes 8 --requests 20000 --seed 42 --history /tmp/play --keep\n"
    "  idem verify --check-only /tmp/play\n\n"
    "Exit codes: 0 all properties hold, 1 one is violated, others as of every command.";

// The value of an option of the whole program, if it has such an option and it was given.
template <typename T>
void take_from(const CLI::App &app, const char *name, T &value)
{
    const CLI::Option *option = app.get_option_no_throw(name);
    if (option != nullptr && option->count() > 0) {
        option->results(value);
    }
}

// Takes the options that belong to the whole program.
void take_common(const CLI::App &app, PlayRequest &request)
{
    take_from(app, "--dsn", request.dsn);
    double timeout = 0;
    take_from(app, "--timeout", timeout);
    if (timeout > 0) {
        request.deadline = static_cast<int>(timeout * 1000);
    }
}

// A folder for histories that is new.
std::filesystem::path make_folder(const std::string &asked_for)
{
    if (!asked_for.empty()) {
        std::filesystem::create_directories(asked_for);
        if (!std::filesystem::is_empty(asked_for)) {
            throw CLI::ValidationError("--history", "the folder is not empty: " + asked_for);
        }
        return asked_for;
    }
    std::string name = (std::filesystem::temp_directory_path() / "idem-verify-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
        throw std::runtime_error("could not make the folder " + name);
    }
    return name;
}

// Prints what came out. Returns whether everything holds.
bool print(const Arguments &arguments, const Outcomes &outcomes, const std::filesystem::path &folder)
{
    if (arguments.tap) {
        print_summary(std::cout, "# ", outcomes);
        print_tap(std::cout, outcomes.violations, folder);
    } else {
        print_summary(std::cout, "", outcomes);
        std::cout << '\n';
        print_verdict(std::cout, outcomes.violations, folder);
    }
    std::cout.flush();
    return outcomes.violations.empty();
}

// Plays and checks. Histories are kept where they are asked for, and where they are needed.
bool run_play(Arguments &arguments)
{
    PlayRequest &request = arguments.request;
    if (request.requests == 0 && request.seconds <= 0 && !request.until_eof) {
        request.seconds = 30;
    }
    if (request.seed == 0) {
        request.seed = 1 + std::random_device()() % 1'000'000;
    }
    const std::filesystem::path folder = make_folder(arguments.history);
    std::cerr << "seed " << request.seed << ", histories in " << folder.string() << '\n';
    const Outcomes outcomes = play(request, folder);
    const bool holds = print(arguments, outcomes, folder);
    if (holds && arguments.history.empty()) {
        std::filesystem::remove_all(folder);
    }
    return holds;
}

// Does what the command line says. Returns the exit status.
int run(Arguments &arguments)
{
    if (arguments.process >= 0) {
        play_process(arguments.history, arguments.process);
        return 0;
    }
    if (arguments.asks_for_cache) {
        return has_cache() ? 0 : 1;
    }
    if (!arguments.check_only.empty()) {
        return print(arguments, check_again(arguments.request, arguments.check_only), arguments.check_only) ? 0 : 1;
    }
    return run_play(arguments) ? 0 : 1;
}

// The options that are for everybody.
void add_options(CLI::App &command, Arguments &arguments)
{
    PlayRequest &request = arguments.request;
    command.add_option("--processes", request.processes, "Client processes")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    command.add_option("--lanes", request.lanes, "Threads of each, with a connection each")
        ->check(CLI::Range(1, 100))
        ->capture_default_str();
    auto *requests = command.add_option("--requests", request.requests, "End after so many calls");
    command.add_option("--seconds", request.seconds, "End after this time; 30 unless --requests is given")
        ->check(CLI::PositiveNumber)
        ->excludes(requests);
    command.add_option("--keys", request.keys, "At most so many idempotency keys; without it, ever new ones");
    command.add_option("--seed", request.seed, "Decides calls and faults; printed where it is not given")
        ->check(CLI::PositiveNumber);
    command.add_option("--faults-rate", request.fault_rate, "Faults a second, on average")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    command.add_option("--history", arguments.history, "An empty or new folder that keeps the histories");
    command.add_option("--check-only", arguments.check_only,
                       "Check again what a play with --keep has left in this folder");
    command.add_flag("--keep", request.keep, "Keep the schema with the business rows");
    command.add_flag("--tap", arguments.tap, "Print the properties as tests of the Test Anything Protocol");
}

// The options for the processes of a play and for those who direct one.
void add_hidden_options(CLI::App &command, Arguments &arguments)
{
    PlayRequest &request = arguments.request;
    command.add_option(kProcessOption, arguments.process)->group("");
    command.add_option("--play-dsn", request.play_dsns)->group("");
    command.add_flag("--has-cache", arguments.asks_for_cache)->group("");
    command.add_option("--redis", request.redis)->group("");
    command.add_flag("--until-eof", request.until_eof)->group("");
    command.add_flag("--quiet", request.quiet)->group("");
}

} // namespace

void add_verify(CLI::App &app)
{
    const auto arguments = std::make_shared<Arguments>();
    CLI::App *command =
        app.add_subcommand("verify", "Prove on a test database that faults neither lose nor double a transaction");
    add_options(*command, *arguments);
    add_hidden_options(*command, *arguments);
    command->footer(kFooter);
    command->callback([&app, arguments] {
        take_common(app, arguments->request);
        const int status = run(*arguments);
        if (status != 0) {
            throw CLI::RuntimeError(status);
        }
    });
}

} // namespace idem::verify
