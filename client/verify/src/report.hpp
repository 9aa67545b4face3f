#pragma once

#include "checker.hpp"

#include <filesystem>
#include <ostream>
#include <string_view>

namespace idem::verify {

/// How often each fault happened, by its name.
using FaultCounts = std::map<std::string, std::uint64_t>;

/// What a play has shown.
struct Outcomes {
    History history;
    Tables tables;
    FaultCounts faults;
    std::vector<Violation> violations;
};

/// Prints what was played, and which faults struck; each line with a prefix.
void print_summary(std::ostream &out, std::string_view prefix, const Outcomes &outcomes);

/// Prints each property and its violations, with the lines of the histories that show them.
void print_verdict(std::ostream &out, const std::vector<Violation> &violations, const std::filesystem::path &folder);

/// The same in the form of the Test Anything Protocol, one test for each property, without a plan.
void print_tap(std::ostream &out, const std::vector<Violation> &violations, const std::filesystem::path &folder);

} // namespace idem::verify
