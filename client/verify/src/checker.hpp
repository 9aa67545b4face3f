#pragma once

#include "records.hpp"

#include <array>
#include <string>
#include <vector>

/// The proof: what the histories say against what the tables hold. Nothing here reaches the database.
namespace idem::verify {

/// What must hold, whatever failed.
enum class Property {
    nothing_lost,
    acknowledged_stored,
    one_row,
    one_id,
    created_once,
    replay_has_origin,
    conflict_only_changed,
    changed_never_acknowledged,
    stored_was_sent,
    nothing_unsent,
    sure_failure,
    posted_once,
    posted_nothing_else,
    one_per_order,
    order_taken_is_true,
    errors_explained,
    all_answered,
};

inline constexpr std::array kProperties{
    Property::nothing_lost,
    Property::acknowledged_stored,
    Property::one_row,
    Property::one_id,
    Property::created_once,
    Property::replay_has_origin,
    Property::conflict_only_changed,
    Property::changed_never_acknowledged,
    Property::stored_was_sent,
    Property::nothing_unsent,
    Property::sure_failure,
    Property::posted_once,
    Property::posted_nothing_else,
    Property::one_per_order,
    Property::order_taken_is_true,
    Property::errors_explained,
    Property::all_answered,
};

/// What a property says, as a sentence without its end.
[[nodiscard]] const char *to_string(Property property) noexcept;

/// A property that does not hold, and the lines that show it.
struct Violation {
    Property property;
    std::string text;
    std::vector<Source> sources = {};
};

/// All violations, in the order of the properties.
[[nodiscard]] std::vector<Violation> check(const History &history, const Tables &tables);

} // namespace idem::verify
