#pragma once

#include "checker.hpp"

#include <map>
#include <tuple>

namespace idem::verify {

/// One request of a call, with what became of it.
struct Trial {
    const Call *call;
    const Posed *request;
    std::string content;
    std::optional<Answer> answer; ///< ID001 and ID003 are answers too, whether they were raised or returned.

    /// Whether its transaction was given back.
    [[nodiscard]] bool is_acknowledged() const noexcept;
    /// Whether it says that it is the one that inserted the row, or may have inserted it without a word.
    [[nodiscard]] bool may_have_created() const noexcept;
    /// The line with the end, or where there is none, the one that sent it.
    [[nodiscard]] Source source() const noexcept;
};

/// A row with its content.
struct Stored {
    const Row *row;
    std::string content;
};

/// All that is known of one scope.
struct ScopeEvidence {
    std::vector<Trial> trials;
    std::vector<Stored> rows;
    std::vector<const Posting *> postings;
};

/// Tenant, operation and order_ref.
using Order = std::tuple<std::string, std::string, std::string>;

/// Histories and tables, by scope and by order.
struct Evidence {
    std::map<Scope, ScopeEvidence> scopes;
    std::map<Order, std::vector<const Row *>> orders;
    std::map<Order, std::vector<const Trial *>> acknowledged_orders;

    Evidence(const History &history, const Tables &tables);
};

using Violations = std::vector<Violation>;

/// The order of a request or row that has one.
template <typename T>
Order order_of(const T &owner)
{
    return {owner.scope.tenant_id, owner.scope.operation, owner.order_ref.value()};
}

/// A scope as text for a reader.
[[nodiscard]] std::string describe(const Scope &scope);

/// Checks of what was answered for a scope, against its rows.
void check_answers(const Scope &scope, const ScopeEvidence &evidence, Violations &violations);
/// Checks of the rows of a scope, against what was sent.
void check_rows(const Scope &scope, const ScopeEvidence &evidence, Violations &violations);
/// Checks of the order_refs.
void check_orders(const Evidence &evidence, Violations &violations);
/// Checks of how calls ended.
void check_endings(const History &history, Violations &violations);

} // namespace idem::verify
