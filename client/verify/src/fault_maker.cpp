#include "fault_maker.hpp"

#include <array>
#include <cmath>
#include <string_view>

namespace idem::verify {

namespace {

using namespace std::chrono_literals;

// What may happen, as often as it stands here. The first ones need no proxy; the others are its control lines.
constexpr std::size_t kWithoutProxy = 5;
constexpr std::array<std::string_view, 20> kFaults{
    "kill_process",          "kill_process",           "terminate_session",       "terminate_session",
    "terminate_session",     "next cut_before_commit", "next cut_before_commit",  "next cut_after_commit",
    "next cut_after_commit", "next cut_after_commit",  "next reset_after_commit", "next swallow_answer",
    "next swallow_answer",   "next half_open",         "next cut_in_answer",      "next cut_statement",
    "next cut_connect",      "next delay 300",         "next delay 1000",         "cut"};

} // namespace

FaultMaker::FaultMaker(std::uint64_t seed, double rate, Supervisor &supervisor, Database &database,
                       std::string application_name, ProxyProcess *proxy)
    : chance_(seed, 'f'), rate_(rate), supervisor_(supervisor), database_(database),
      application_name_(std::move(application_name)), proxy_(proxy), next_(std::chrono::steady_clock::now())
{
}

void FaultMaker::make()
{
    while (rate_ > 0 && next_ <= std::chrono::steady_clock::now()) {
        const std::chrono::duration<double> pause(-std::log(1 - chance_.fraction()) / rate_);
        next_ += std::chrono::duration_cast<std::chrono::steady_clock::duration>(pause);
        make_one();
    }
    if (proxy_ != nullptr) {
        proxy_->count(counts_);
    }
}

void FaultMaker::make_one()
{
    const std::string fault(kFaults.at(chance_.below(proxy_ == nullptr ? kWithoutProxy : kFaults.size())));
    const std::uint64_t which = chance_.below(1'000'000);
    if (fault == "kill_process") {
        counts_[fault] += supervisor_.kill_one(which) ? 1 : 0;
    } else if (fault == "terminate_session") {
        counts_[fault] += database_.terminate_session(application_name_, which) ? 1 : 0;
    } else if (proxy_ != nullptr) {
        proxy_->tell(fault);
    }
}

void FaultMaker::stop()
{
    rate_ = 0;
    if (proxy_ != nullptr) {
        proxy_->tell("clear");
    }
}

const FaultCounts &FaultMaker::counts()
{
    make();
    return counts_;
}

} // namespace idem::verify
