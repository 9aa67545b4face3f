#include "options.hpp"

#include "number.hpp"

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string_view>

namespace idem::proxy {

const char *const kUsage =
    "usage: fault_proxy HOST PORT [--round-trip-us N] [--seed N --fault-rate P [--faults NAME,...] [--delay-ms N]]\n"
    "                   [--linger-ms N] [--control]\n";

namespace {

// The longest time that is taken for meant, in milliseconds: a day.
constexpr std::uint64_t kMaxMilliseconds = 86'400'000;

std::uint64_t read_time(std::string_view text, std::uint64_t most)
{
    const auto value = read_number<std::uint64_t>(text);
    if (value > most) {
        throw std::invalid_argument("too long a time: " + std::string(text));
    }
    return value;
}

std::vector<Fault> read_faults(std::string_view text)
{
    std::vector<Fault> faults;
    for (std::size_t start = 0; start <= text.size();) {
        const std::size_t end = std::min(text.find(',', start), text.size());
        const std::string_view name = text.substr(start, end - start);
        const auto fault = fault_named(name);
        if (!fault) {
            throw std::invalid_argument("no fault of this name: " + std::string(name));
        }
        faults.push_back(*fault);
        start = end + 1;
    }
    return faults;
}

void take_option(Options &options, const std::string &name, const std::string &value)
{
    if (name == "--round-trip-us") {
        options.round_trip = std::chrono::microseconds(read_time(value, kMaxMilliseconds * 1000));
    } else if (name == "--seed") {
        options.seed = read_number<std::uint64_t>(value);
    } else if (name == "--fault-rate") {
        options.rate = read_number<double>(value);
    } else if (name == "--faults") {
        options.faults = read_faults(value);
    } else if (name == "--delay-ms") {
        options.longest_delay = std::chrono::milliseconds(read_time(value, kMaxMilliseconds));
    } else if (name == "--linger-ms") {
        options.linger = std::chrono::milliseconds(read_time(value, kMaxMilliseconds));
    } else {
        throw std::invalid_argument("no option of this name: " + name);
    }
}

} // namespace

Options parse_options(const std::vector<std::string> &arguments)
{
    Options options;
    std::vector<std::string> places;
    for (std::size_t index = 0; index < arguments.size(); ++index) {
        const std::string &argument = arguments[index];
        if (argument == "--control") {
            options.control = STDIN_FILENO;
        } else if (!argument.starts_with("--")) {
            places.push_back(argument);
        } else if (index + 1 < arguments.size()) {
            take_option(options, argument, arguments[++index]);
        } else {
            throw std::invalid_argument("no value for " + argument);
        }
    }
    if (places.size() != 2) {
        throw std::invalid_argument("a host and a port are needed");
    }
    options.host = places[0];
    options.port = places[1];
    return options;
}

} // namespace idem::proxy
