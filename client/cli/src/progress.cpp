#include "progress.hpp"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <ostream>
#include <sstream>

namespace idem::cli {
namespace {

constexpr int kBarWidth = 24;
constexpr int kLineWidth = 79;
constexpr std::chrono::duration<double> kBarInterval{0.1};
constexpr std::chrono::duration<double> kLineInterval{5};

std::string clock_time(double seconds)
{
    const auto whole = static_cast<std::int64_t>(std::ceil(seconds));
    std::ostringstream text;
    if (whole >= 3600) {
        text << whole / 3600 << ':' << std::setfill('0') << std::setw(2);
    }
    text << whole / 60 % 60 << ':' << std::setfill('0') << std::setw(2) << whole % 60;
    return text.str();
}

// A file that grows while it is read is never more than read.
double share_done(const ProgressState &state)
{
    const auto all = static_cast<double>(state.all_octets.value_or(0));
    return all > 0 ? std::min(1.0, static_cast<double>(state.octets) / all) : 0;
}

} // namespace

std::string progress_line(const ProgressState &state)
{
    const double seconds = state.elapsed.count();
    const double share = share_done(state);
    std::ostringstream line;
    if (state.all_octets) {
        const auto filled = static_cast<std::size_t>(share * kBarWidth);
        line << '[' << std::string(filled, '=') << std::string(kBarWidth - filled, ' ') << "] " << std::setw(3)
             << static_cast<int>(share * 100) << " %  ";
    }
    line << state.records << " records";
    if (seconds > 0) {
        line << "  " << static_cast<std::uint64_t>(static_cast<double>(state.records) / seconds) << "/s";
    }
    if (share > 0 && share < 1) {
        line << "  " << clock_time(seconds * (1 - share) / share) << " left";
    }
    return line.str().substr(0, kLineWidth);
}

void Progress::show(const ProgressState &state)
{
    if (kind_ == Kind::none || state.elapsed < next_) {
        return;
    }
    if (kind_ == Kind::bar) {
        // The blanks and the returns rub out what was longer before.
        out_ << '\r' << std::left << std::setw(kLineWidth) << progress_line(state) << std::right << std::flush;
        next_ = state.elapsed + kBarInterval;
        drawn_ = true;
        return;
    }
    if (next_ > std::chrono::duration<double>::zero()) {
        out_ << progress_line(state) << std::endl;
    }
    next_ = state.elapsed + kLineInterval;
}

void Progress::clear()
{
    if (drawn_) {
        out_ << '\r' << std::string(kLineWidth, ' ') << '\r' << std::flush;
        drawn_ = false;
    }
}

} // namespace idem::cli
