// What can go wrong, and where.

#pragma once

#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

namespace idem::proxy {

// Where a fault can strike: at the message by which a client does this. What is committed without a COMMIT, because it
// runs outside of a transaction block, is an autocommit.
enum class Point { connect, cancel, begin, statement, rollback, commit, autocommit };

enum class Fault {
    cut_before_commit,
    cut_after_commit,
    reset_after_commit,
    swallow_answer,
    half_open,
    cut_in_answer,
    cut_statement,
    cut_connect,
    delay,
};

// A set of points.
class Points {
public:
    constexpr Points(std::initializer_list<Point> points)
    {
        for (const Point point : points) {
            bits_ |= bit(point);
        }
    }

    [[nodiscard]] constexpr bool has(Point point) const { return (bits_ & bit(point)) != 0; }

private:
    static constexpr unsigned bit(Point point) { return 1U << static_cast<unsigned>(point); }

    unsigned bits_ = 0;
};

// The names that stand in options, control lines and reports.
std::string_view name_of(Point point);
std::string_view name_of(Fault fault);

// Gives what bears the name, or nothing.
std::optional<Point> point_named(std::string_view name);
std::optional<Fault> fault_named(std::string_view name);

// All faults, in the order of their declaration.
const std::vector<Fault> &all_faults();

// The points at which a fault strikes unless told otherwise, and those at which it can strike at all.
Points usual_points(Fault fault);
Points possible_points(Fault fault);

} // namespace idem::proxy
