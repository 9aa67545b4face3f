#include "fault.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace idem::proxy {

namespace {

constexpr std::array<std::pair<Point, std::string_view>, 7> kPoints{{
    {Point::connect, "connect"},
    {Point::cancel, "cancel"},
    {Point::begin, "begin"},
    {Point::statement, "statement"},
    {Point::rollback, "rollback"},
    {Point::commit, "commit"},
    {Point::autocommit, "autocommit"},
}};

constexpr Points kCommits{Point::commit, Point::autocommit};
constexpr Points kOthers{Point::begin, Point::statement, Point::rollback};
constexpr Points kOpenings{Point::connect, Point::cancel};
constexpr Points kAnswered{Point::begin, Point::statement, Point::rollback, Point::commit, Point::autocommit};
constexpr Points kAll{Point::connect,  Point::cancel, Point::begin,     Point::statement,
                      Point::rollback, Point::commit, Point::autocommit};

struct Kind {
    Fault fault;
    std::string_view name;
    Points usual;
    Points possible;
};

constexpr std::array<Kind, 9> kFaults{{
    {Fault::cut_before_commit, "cut_before_commit", kCommits, kCommits},
    {Fault::cut_after_commit, "cut_after_commit", kCommits, kCommits},
    {Fault::reset_after_commit, "reset_after_commit", kCommits, kCommits},
    {Fault::swallow_answer, "swallow_answer", kCommits, kAnswered},
    {Fault::half_open, "half_open", kAnswered, kAll},
    {Fault::cut_in_answer, "cut_in_answer", kCommits, kAnswered},
    {Fault::cut_statement, "cut_statement", kOthers, kOthers},
    {Fault::cut_connect, "cut_connect", {Point::connect}, kOpenings},
    {Fault::delay, "delay", kAll, kAll},
}};

const Kind &kind_of(Fault fault)
{
    return *std::find_if(kFaults.begin(), kFaults.end(), [&](const Kind &kind) { return kind.fault == fault; });
}

} // namespace

std::string_view name_of(Point point)
{
    return std::find_if(kPoints.begin(), kPoints.end(), [&](const auto &pair) { return pair.first == point; })->second;
}

std::string_view name_of(Fault fault)
{
    return kind_of(fault).name;
}

std::optional<Point> point_named(std::string_view name)
{
    for (const auto &[point, its_name] : kPoints) {
        if (its_name == name) {
            return point;
        }
    }
    return std::nullopt;
}

std::optional<Fault> fault_named(std::string_view name)
{
    for (const Kind &kind : kFaults) {
        if (kind.name == name) {
            return kind.fault;
        }
    }
    return std::nullopt;
}

const std::vector<Fault> &all_faults()
{
    static const std::vector<Fault> list = [] {
        std::vector<Fault> faults(kFaults.size());
        std::transform(kFaults.begin(), kFaults.end(), faults.begin(), [](const Kind &kind) { return kind.fault; });
        return faults;
    }();
    return list;
}

Points usual_points(Fault fault)
{
    return kind_of(fault).usual;
}

Points possible_points(Fault fault)
{
    return kind_of(fault).possible;
}

} // namespace idem::proxy
