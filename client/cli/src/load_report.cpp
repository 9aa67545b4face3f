#include "load_report.hpp"

#include "json_text.hpp"
#include "source.hpp"

#include <algorithm>
#include <iomanip>
#include <ios>
#include <numeric>
#include <ostream>
#include <sstream>

namespace idem::cli {
namespace {

constexpr std::size_t kLinesKept = 10;
constexpr std::size_t kLinesShown = 5;

constexpr std::array<Fate, 4> kRefused{Fate::conflict, Fate::order_taken, Fate::invalid, Fate::unreadable};

std::string fixed(double value, int digits)
{
    std::ostringstream text;
    text << std::fixed << std::setprecision(digits) << value;
    return text.str();
}

std::string list_lines(const std::vector<std::uint64_t> &lines, std::size_t shown, const char *separator)
{
    std::string text;
    for (std::size_t i = 0; i < std::min(shown, lines.size()); ++i) {
        text += (i > 0 ? separator : "") + std::to_string(lines[i]);
    }
    return text;
}

} // namespace

LoadReport::LoadReport(std::string file) : name_(std::move(file))
{
    if (!name_.empty()) {
        file_.open(name_, std::ios::binary | std::ios::trunc);
        flush();
    }
}

void LoadReport::refuse(std::uint64_t line, const Refusal &refusal)
{
    count(refusal.fate);
    std::vector<std::uint64_t> &lines = lines_[static_cast<std::size_t>(refusal.fate)];
    if (lines.size() < kLinesKept) {
        lines.push_back(line);
    }
    if (name_.empty()) {
        return;
    }
    JsonObject object;
    object.raw("line", std::to_string(line));
    object.text("outcome", to_string(refusal.fate));
    object.text_or_null("sqlstate", refusal.sqlstate.empty() ? std::nullopt : std::optional(refusal.sqlstate));
    object.text_or_null("reason", refusal.reason.empty() ? std::nullopt : std::optional(refusal.reason));
    file_ << object.str() << '\n';
}

void LoadReport::flush()
{
    if (!name_.empty() && !file_.flush()) {
        throw FileError("could not write file \"" + name_ + "\"");
    }
}

std::uint64_t LoadReport::records() const noexcept
{
    return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
}

bool LoadReport::any_refused() const noexcept
{
    return std::any_of(kRefused.begin(), kRefused.end(), [this](Fate fate) { return counted(fate) > 0; });
}

const std::vector<std::uint64_t> &LoadReport::lines(Fate fate) const
{
    return lines_[static_cast<std::size_t>(fate)];
}

void LoadReport::print(std::ostream &out, std::chrono::duration<double> elapsed, bool database) const
{
    const double seconds = elapsed.count();
    out << records() << " records in " << fixed(seconds, 1) << " s";
    if (seconds > 0) {
        out << " (" << fixed(static_cast<double>(records()) / seconds, 0) << "/s)";
    }
    out << '\n';
    for (std::size_t i = 0; i < kFates; ++i) {
        const auto fate = static_cast<Fate>(i);
        const bool sent_only =
            fate == Fate::created || fate == Fate::replayed || fate == Fate::conflict || fate == Fate::order_taken;
        if (database ? fate == Fate::valid : sent_only) {
            continue;
        }
        out << "  " << std::left << std::setw(11) << to_string(fate) << std::right << std::setw(12) << counted(fate);
        if (!lines(fate).empty()) {
            out << "   line " << list_lines(lines(fate), kLinesShown, ", ")
                << (counted(fate) > std::min(kLinesShown, lines(fate).size()) ? ", ..." : "");
        }
        out << '\n';
    }
}

void LoadReport::print_json(std::ostream &out, std::chrono::duration<double> elapsed) const
{
    JsonObject object;
    object.raw("records", std::to_string(records()));
    JsonObject places;
    for (std::size_t i = 0; i < kFates; ++i) {
        const auto fate = static_cast<Fate>(i);
        object.raw(to_string(fate), std::to_string(counted(fate)));
        if (!lines(fate).empty()) {
            places.raw(to_string(fate), "[" + list_lines(lines(fate), kLinesKept, ", ") + "]");
        }
    }
    object.raw("first_lines", places.str());
    object.raw("seconds", fixed(elapsed.count(), 3));
    out << object.str() << '\n';
}

} // namespace idem::cli
