#include "control.hpp"

#include "number.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <exception>
#include <stdexcept>

namespace idem::proxy {

namespace {

using Words = std::vector<std::string_view>;

constexpr std::size_t kMaxLine = 1000;
constexpr std::uint64_t kMaxAmount = 86'400'000; // in milliseconds: a day

Words words_of(std::string_view line)
{
    Words words;
    std::size_t start = 0;
    while ((start = line.find_first_not_of(" \t\r", start)) != std::string_view::npos) {
        const std::size_t end = std::min(line.find_first_of(" \t\r", start), line.size());
        words.push_back(line.substr(start, end - start));
        start = end;
    }
    return words;
}

void require(bool condition, const char *what)
{
    if (!condition) {
        throw std::invalid_argument(what);
    }
}

bool on_or_off(const Words &words)
{
    require(words.size() == 2 && (words[1] == "on" || words[1] == "off"), "say on or off");
    return words[1] == "on";
}

// Reads FAULT [POINT] [AMOUNT] behind the first word.
Order order_of(const Words &words)
{
    require(words.size() >= 2 && words.size() <= 4, "say a fault, and maybe a point and an amount");
    const auto fault = fault_named(words[1]);
    require(fault.has_value(), "no fault of this name");
    Order order{*fault, usual_points(*fault), std::nullopt};
    std::size_t read = 2;
    if (read < words.size()) {
        if (const auto point = point_named(words[read])) {
            require(possible_points(*fault).has(*point), "this fault cannot strike at this point");
            order.points = {*point};
            ++read;
        }
    }
    if (read < words.size()) {
        order.amount = read_number<std::uint64_t>(words[read++]);
        require(*order.amount <= kMaxAmount, "too large an amount");
    }
    require(read == words.size(), "no point of this name");
    return order;
}

} // namespace

bool Control::read()
{
    std::array<char, 4096> buffer;
    const ssize_t count = ::read(fd_, buffer.data(), buffer.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) {
        return true;
    }
    if (count <= 0) {
        return false;
    }
    unfinished_.append(buffer.data(), static_cast<std::size_t>(count));
    for (std::size_t end = 0; (end = unfinished_.find('\n')) != std::string::npos; unfinished_.erase(0, end + 1)) {
        try {
            obey(std::string_view(unfinished_).substr(0, end));
            output_.line("ok");
        } catch (const std::exception &error) {
            output_.line(std::string("error: ") + error.what());
        }
    }
    return unfinished_.size() <= kMaxLine;
}

// Does what one line says, or throws.
void Control::obey(std::string_view line)
{
    const Words words = words_of(line);
    require(!words.empty(), "say what to do");
    const std::string_view verb = words.front();
    if (verb == "next") {
        relay_.plan().arm(order_of(words));
    } else if (verb == "set") {
        relay_.plan().keep(order_of(words));
    } else if (verb == "rate") {
        require(words.size() == 2, "say a rate");
        relay_.plan().set_rate(read_number<double>(words[1]));
    } else if (verb == "target") {
        require(words.size() == 3, "say a host and a port");
        relay_.set_target(resolve(std::string(words[1]), std::string(words[2])));
    } else if (verb == "refuse") {
        relay_.refuse(on_or_off(words));
    } else if (verb == "hold") {
        relay_.network().held = on_or_off(words);
    } else if (verb == "pause") {
        relay_.network().paused = on_or_off(words);
    } else {
        require(words.size() == 1 && (verb == "clear" || verb == "cut"), "no control line of this kind");
        if (verb == "clear") {
            relay_.plan().clear();
        } else {
            relay_.cut();
        }
    }
}

} // namespace idem::proxy
