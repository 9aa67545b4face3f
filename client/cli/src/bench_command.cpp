#include "command.hpp"
#include "exit_code.hpp"
#include "source.hpp"

#include <cerrno>
#include <filesystem>
#include <iostream>
#include <memory>
#include <system_error>
#include <unistd.h>

namespace idem::cli {
namespace {

namespace fs = std::filesystem;

struct Options {
    std::string source;
    bool quick = false;
    bool growth = false;
    std::string rows;
    std::string rounds;
    std::string seconds;
};

bool is_source_tree(const fs::path &folder)
{
    std::error_code ignored;
    return fs::is_regular_file(folder / "idem.control", ignored) &&
           fs::is_regular_file(folder / "scripts" / "bench", ignored);
}

// The source tree that is given, or that the current folder is in.
fs::path source_tree(const std::string &given)
{
    if (!given.empty()) {
        if (!is_source_tree(given)) {
            throw FileError("\"" + given + "\" is not a source tree of idem");
        }
        return fs::absolute(given);
    }
    for (fs::path folder = fs::current_path();; folder = folder.parent_path()) {
        if (is_source_tree(folder)) {
            return folder;
        }
        if (folder == folder.root_path()) {
            throw FileError("the current folder is not in a source tree of idem: give its folder with --source");
        }
    }
}

void run(const Options &options)
{
    const std::string script = (source_tree(options.source) / "scripts" / "bench").string();
    std::vector<std::string> words{script};
    if (options.quick || options.growth) {
        words.emplace_back(options.quick ? "--quick" : "--growth");
    }
    for (const auto &[name, value] :
         {std::pair{"--rows", options.rows}, {"--rounds", options.rounds}, {"--seconds", options.seconds}}) {
        if (!value.empty()) {
            words.insert(words.end(), {name, value});
        }
    }
    std::vector<char *> arguments;
    arguments.reserve(words.size() + 1);
    for (std::string &word : words) {
        arguments.push_back(word.data());
    }
    arguments.push_back(nullptr);
    ::execv(script.c_str(), arguments.data());
    throw FileError("could not run \"" + script + "\": " + std::generic_category().message(errno));
}

} // namespace

void add_bench(CLI::App &app)
{
    auto options = std::make_shared<Options>();
    CLI::App *command = app.add_subcommand("bench", "Measure idem beside what would be used instead, from its sources");
    command->add_option("--source", options->source, "The source tree (the one that the current folder is in)");
    CLI::Option *quick = command->add_flag("--quick", options->quick, "In less than 3 minutes and less exactly");
    CLI::Option *growth =
        command->add_flag("--growth", options->growth, "Large tables instead; this takes hours")->excludes(quick);
    command->add_option("--rows", options->rows, "With --growth: how many rows, separated by commas")->needs(growth);
    command->add_option("--rounds", options->rounds, "How often each contender takes its turn");
    command->add_option("--seconds", options->seconds, "How long a turn is");
    command->footer("Example:\n"
                    "  idem bench --source ~/src/idem --quick\n\n"
                    "It builds and installs the extension and uses a server of its own, not the one that the\n"
                    "options or the environment name. See bench/README.md in the source tree.\n\n"
                    "Exit codes: those of scripts/bench; 2 usage, 9 no source tree.");
    command->callback([options] { run(*options); });
}

} // namespace idem::cli
