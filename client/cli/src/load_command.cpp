#include "command.hpp"
#include "exit_code.hpp"
#include "interrupt.hpp"
#include "loader.hpp"
#include "progress.hpp"
#include "reader.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <unistd.h>

namespace idem::cli {
namespace {

constexpr std::chrono::seconds kTimeout{60};

struct Options {
    std::string file;
    std::string format;
    std::optional<std::string> tenant;
    std::size_t batch = 1000;
    std::string report;
    bool dry_run = false;
    bool quiet = false;
    bool json = false;
};

bool ends_with_nocase(std::string_view text, std::string_view end)
{
    return text.size() >= end.size() && std::equal(end.rbegin(), end.rend(), text.rbegin(), [](char a, char b) {
               return a == (b >= 'A' && b <= 'Z' ? b + 32 : b);
           });
}

// Opening the report empties it: it must not be the file that is read.
void check_report(const Options &options)
{
    std::error_code ignored;
    if (!options.report.empty() && std::filesystem::equivalent(options.report, options.file, ignored)) {
        throw CLI::ValidationError("--report", "the report cannot be the file that is read");
    }
}

// The format that is given, or that the name of the file ends with.
std::string format_of(const Options &options)
{
    if (!options.format.empty()) {
        return options.format;
    }
    if (ends_with_nocase(options.file, ".csv")) {
        return "csv";
    }
    for (const char *end : {".jsonl", ".ndjson"}) {
        if (ends_with_nocase(options.file, end)) {
            return "jsonl";
        }
    }
    throw CLI::ValidationError("--format", "the name of the file does not tell its format: give jsonl or csv");
}

/// One run of the command.
class Load {
public:
    Load(const Options &options, const Connection &connection);
    int run();

private:
    void read_records();
    void take(Record record);
    void show_progress();
    void print_report();
    [[nodiscard]] std::chrono::duration<double> elapsed() const { return std::chrono::steady_clock::now() - start_; }

    const Options &options_;
    std::string format_; // First: a mistake in the command line leaves the report of an earlier run alone.
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
    FileSource file_;
    std::optional<std::uint64_t> size_ = file_.size();
    Buffered input_;
    LoadReport report_;
    std::unique_ptr<RecordReader> reader_;
    std::optional<client::Client> client_;
    Loader loader_;
    Progress progress_;
};

Progress::Kind progress_kind(const Options &options)
{
    if (options.quiet) {
        return Progress::Kind::none;
    }
    return ::isatty(STDERR_FILENO) != 0 ? Progress::Kind::bar : Progress::Kind::lines;
}

Load::Load(const Options &options, const Connection &connection)
    : options_(options), format_(format_of(options)), file_(options.file), input_(file_), report_(options.report),
      loader_([this](std::span<const client::Request> requests) { return client_->create_transactions(requests); },
              report_, {.records = options.batch}),
      progress_(progress_kind(options), std::cerr)
{
    ReadOptions read_options;
    read_options.tenant_id = options.tenant;
    reader_ = format_ == "csv" ? csv_reader(input_, read_options) : json_lines_reader(input_, read_options);
    if (!options.dry_run) {
        client_.emplace(connection.client_options(kTimeout));
    }
}

// Reads to the end, or until an interrupt; what is read and not sent by then is left out.
void Load::read_records()
{
    while (std::optional<Record> record = reader_->next()) {
        if (interrupted()) {
            return;
        }
        take(*std::move(record));
        show_progress();
        if (interrupted()) {
            return;
        }
    }
    if (!interrupted()) {
        loader_.flush();
    }
}

void Load::take(Record record)
{
    if (!options_.dry_run) {
        loader_.add(std::move(record));
    } else if (const auto *refusal = std::get_if<Refusal>(&record.content)) {
        report_.refuse(record.line, *refusal);
    } else {
        report_.count(Fate::valid);
    }
}

void Load::show_progress()
{
    progress_.show(
        {.records = report_.records(), .octets = input_.consumed(), .all_octets = size_, .elapsed = elapsed()});
}

void Load::print_report()
{
    progress_.clear();
    if (options_.json) {
        report_.print_json(std::cout, elapsed());
    } else {
        report_.print(std::cout, elapsed(), !options_.dry_run);
    }
    std::cout << std::flush;
    if (!options_.quiet && !reader_->ignored().empty()) {
        std::cerr << "idem: these names mean nothing here, and were passed over:";
        for (const std::string &name : reader_->ignored()) {
            std::cerr << ' ' << name;
        }
        std::cerr << '\n';
    }
}

int Load::run()
{
    watch_interrupts();
    int status = kDone;
    try {
        read_records();
        report_.flush();
    } catch (const client::Error &error) {
        progress_.clear();
        print_error(std::cerr, error);
        status = exit_code(error);
    } catch (const FileError &error) {
        progress_.clear();
        std::cerr << "idem: " << error.what() << '\n';
        status = kFile;
    }
    print_report();
    if (status == kDone && interrupted()) {
        status = kSignal + noted_signal();
    }
    if (status != kDone && !options_.dry_run) {
        std::cerr << "idem: the file was not loaded to its end; load it again to go on: what is stored is replayed\n";
    }
    return status != kDone ? status : report_.any_refused() ? kFound : kDone;
}

} // namespace

void add_load(CLI::App &app, const Connection &connection)
{
    auto options = std::make_shared<Options>();
    CLI::App *command = app.add_subcommand("load", "Create the transactions of a file, JSON lines or CSV");
    command->add_option("file", options->file, "The file, or - for standard input")->required();
    command->add_option("--format", options->format, "jsonl or csv, where the name of the file does not end so")
        ->check(CLI::IsMember({"jsonl", "csv"}));
    command->add_option("--tenant", options->tenant, "The tenant of records that name none");
    command->add_option("--batch", options->batch, "How many records are one database transaction")
        ->check(CLI::Range(1, 100000))
        ->capture_default_str();
    command->add_option("--report", options->report, "Write each refused record into this file, as a line of JSON");
    command->add_flag("--dry-run", options->dry_run, "Check the file without a database");
    command->add_flag("-q,--quiet", options->quiet, "Show no progress");
    command->add_flag("--json", options->json, "Print the report as one JSON object");
    command->footer(
        "Examples:\n"
        "  idem load requests.jsonl\n"
        "  idem load orders.csv --tenant shop-7 --report refused.jsonl\n\n"
        "Members or columns: tenant_id, idempotency_key, amount_minor (digits), currency, and where wanted\n"
        "details (a JSON object, or a string that holds one), operation, order_ref. Records are served in\n"
        "the order of the file. A load that was interrupted, or cut off in any way, is run again as it is:\n"
        "what is stored is replayed. Ctrl-C ends it after the batch in flight, with the report so far.\n\n"
        "Exit codes: 0 all created or replayed, 1 records were refused, 2 usage, 3 no connection, 4 in doubt,\n"
        "6 busy, 8 another error, 9 the file cannot be read, 130 interrupted. After 3, 4, 6 and 130 run it\n"
        "again.");
    command->callback([options, &connection] {
        check_report(*options);
        end_with(Load(*options, connection).run());
    });
}

} // namespace idem::cli
