#include "report.hpp"

#include <algorithm>
#include <fstream>
#include <string_view>

namespace idem::verify {

namespace {

// More of them say the same.
constexpr std::size_t kMostViolations = 5;
constexpr std::size_t kMostLines = 12;
// Batches make long lines.
constexpr std::size_t kMostLetters = 500;

// A line of a history.
std::string line_of(const std::filesystem::path &folder, const Source &source)
{
    std::ifstream file(folder / *source.file);
    std::string line;
    for (int number = 0; number < source.line; number++) {
        std::getline(file, line);
    }
    if (line.size() > kMostLetters) {
        line.resize(kMostLetters);
        line += "...";
    }
    return line;
}

// Each line once: a batch may name a key several times.
std::vector<Source> without_repetitions(std::vector<Source> sources)
{
    sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
    return sources;
}

// The violations of one property.
std::vector<const Violation *> of_property(const std::vector<Violation> &violations, Property property)
{
    std::vector<const Violation *> result;
    for (const Violation &violation : violations) {
        if (violation.property == property) {
            result.push_back(&violation);
        }
    }
    return result;
}

// Prints the violations of one property, each line with a prefix.
void print_violations(std::ostream &out, std::string_view prefix, const std::vector<const Violation *> &violations,
                      const std::filesystem::path &folder)
{
    for (std::size_t i = 0; i < std::min(violations.size(), kMostViolations); i++) {
        const Violation &violation = *violations[i];
        out << prefix << violation.text << '\n';
        const std::vector<Source> sources = without_repetitions(violation.sources);
        for (std::size_t line = 0; line < std::min(sources.size(), kMostLines); line++) {
            out << prefix << "  " << *sources[line].file << ':' << sources[line].line << ": "
                << line_of(folder, sources[line]) << '\n';
        }
        if (sources.size() > kMostLines) {
            out << prefix << "  and " << sources.size() - kMostLines << " lines more\n";
        }
    }
    if (violations.size() > kMostViolations) {
        out << prefix << "and " << violations.size() - kMostViolations << " more\n";
    }
}

// How the calls of a history ended.
struct Endings {
    std::uint64_t acknowledged = 0;
    std::uint64_t refused = 0;
    std::uint64_t failed = 0;
    std::uint64_t in_doubt = 0;
    std::uint64_t without = 0;

    explicit Endings(const History &history)
    {
        for (const Call &call : history.calls) {
            if (!call.ending) {
                without++;
            } else if (call.ending->sqlstate.empty()) {
                acknowledged++;
            } else if (call.ending->sqlstate == "ID001" || call.ending->sqlstate == "ID003") {
                refused++;
            } else {
                (call.ending->in_doubt ? in_doubt : failed)++;
            }
        }
    }
};

// Prints counts by name in one line.
void print_counts(std::ostream &out, const char *title, const std::map<std::string, std::uint64_t> &counts)
{
    out << title;
    const char *separator = "";
    for (const auto &[name, count] : counts) {
        out << separator << name << ' ' << count;
        separator = ", ";
    }
    out << (counts.empty() ? "none\n" : "\n");
}

} // namespace

void print_summary(std::ostream &out, std::string_view prefix, const Outcomes &outcomes)
{
    const History &history = outcomes.history;
    const Endings endings(history);
    out << prefix << "calls            " << history.calls.size() << ": " << endings.acknowledged << " answered, "
        << endings.refused << " refused as changed or taken, " << endings.failed << " failed, " << endings.in_doubt
        << " in doubt, " << endings.without << " cut off by the end of their process\n"
        << prefix << "processes        " << history.runs << " started\n"
        << prefix << "rows             " << outcomes.tables.rows.size() << " in the ledger, "
        << outcomes.tables.postings.size() << " business rows\n";
    out << prefix;
    print_counts(out, "failed attempts  ", history.failed_attempts);
    out << prefix;
    print_counts(out, "faults           ", outcomes.faults);
}

void print_verdict(std::ostream &out, const std::vector<Violation> &violations, const std::filesystem::path &folder)
{
    for (const Property property : kProperties) {
        const auto found = of_property(violations, property);
        out << (found.empty() ? "holds     " : "VIOLATED  ") << to_string(property) << '\n';
        print_violations(out, "    ", found, folder);
    }
}

void print_tap(std::ostream &out, const std::vector<Violation> &violations, const std::filesystem::path &folder)
{
    int number = 0;
    for (const Property property : kProperties) {
        const auto found = of_property(violations, property);
        out << (found.empty() ? "ok " : "not ok ") << ++number << " - " << to_string(property) << '\n';
        print_violations(out, "# ", found, folder);
    }
}

} // namespace idem::verify
