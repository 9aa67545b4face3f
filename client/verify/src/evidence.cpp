#include "evidence.hpp"

#include <algorithm>

namespace idem::verify {

namespace {

// The answer for one request of a call, where there is one.
std::optional<Answer> answer_for(const Call &call, std::size_t place)
{
    if (!call.ending) {
        return {};
    }
    if (call.ending->sqlstate.empty()) {
        return call.ending->answers.at(place);
    }
    if (call.ending->sqlstate == "ID001") {
        return Answer{Outcome::conflict};
    }
    if (call.ending->sqlstate == "ID003") {
        return Answer{Outcome::order_taken};
    }
    return {};
}

} // namespace

bool Trial::is_acknowledged() const noexcept
{
    return answer && (answer->outcome == Outcome::created || answer->outcome == Outcome::replayed);
}

bool Trial::may_have_created() const noexcept
{
    return !call->ending || call->ending->in_doubt || is_acknowledged();
}

Source Trial::source() const noexcept
{
    return call->ending ? call->ending->source : call->source;
}

Evidence::Evidence(const History &history, const Tables &tables)
{
    for (const Call &call : history.calls) {
        for (std::size_t place = 0; place < call.requests.size(); place++) {
            const Posed &request = call.requests[place];
            scopes[request.scope].trials.push_back(
                Trial{&call, &request, content_of(request), answer_for(call, place)});
        }
    }
    for (const Row &row : tables.rows) {
        scopes[row.scope].rows.push_back(Stored{&row, content_of(row)});
        if (row.order_ref) {
            orders[order_of(row)].push_back(&row);
        }
    }
    for (const Posting &posting : tables.postings) {
        scopes[posting.scope].postings.push_back(&posting);
    }
    for (const auto &[scope, evidence] : scopes) {
        for (const Trial &trial : evidence.trials) {
            if (trial.is_acknowledged() && trial.request->order_ref) {
                acknowledged_orders[order_of(*trial.request)].push_back(&trial);
            }
        }
    }
}

// Keys of a play are no secrets; they are made up by it.
std::string describe(const Scope &scope)
{
    return scope.tenant_id + " " + scope.operation + " " + scope.key;
}

const char *to_string(Property property) noexcept
{
    switch (property) {
    case Property::nothing_lost:
        return "nothing acknowledged is lost";
    case Property::acknowledged_stored:
        return "every acknowledged id is stored under its scope";
    case Property::one_row:
        return "a scope has one row at most";
    case Property::one_id:
        return "all answers for a scope have one id";
    case Property::created_once:
        return "one call at most is told that it created";
    case Property::replay_has_origin:
        return "a replay has a call that it replays";
    case Property::conflict_only_changed:
        return "only a changed request is a conflict";
    case Property::changed_never_acknowledged:
        return "a changed request is never acknowledged";
    case Property::stored_was_sent:
        return "what is stored was sent";
    case Property::nothing_unsent:
        return "there is no row that nobody sent";
    case Property::sure_failure:
        return "what surely failed has left nothing";
    case Property::posted_once:
        return "the business row of a transaction is there once";
    case Property::posted_nothing_else:
        return "there is no business row without its transaction";
    case Property::one_per_order:
        return "an order_ref has one transaction";
    case Property::order_taken_is_true:
        return "an order that is said to be taken is taken by another key";
    case Property::errors_explained:
        return "errors are those that faults explain";
    case Property::all_answered:
        return "every call has its answer in the end";
    }
    return "";
}

std::vector<Violation> check(const History &history, const Tables &tables)
{
    const Evidence evidence(history, tables);
    Violations violations;
    for (const auto &[scope, of_scope] : evidence.scopes) {
        check_answers(scope, of_scope, violations);
        check_rows(scope, of_scope, violations);
    }
    check_orders(evidence, violations);
    check_endings(history, violations);
    std::stable_sort(violations.begin(), violations.end(),
                     [](const Violation &left, const Violation &right) { return left.property < right.property; });
    return violations;
}

} // namespace idem::verify
