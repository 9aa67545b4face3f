#include "evidence.hpp"

#include <algorithm>
#include <set>

namespace idem::verify {

namespace {

// The lines of some trials.
template <typename Condition>
std::vector<Source> sources_of(const std::vector<Trial> &trials, Condition condition)
{
    std::vector<Source> sources;
    for (const Trial &trial : trials) {
        if (condition(trial)) {
            sources.push_back(trial.source());
        }
    }
    return sources;
}

// An answer that gives a transaction needs that transaction, with the content that was asked for.
void check_acknowledged(const Scope &scope, const ScopeEvidence &evidence, Violations &violations)
{
    const auto acknowledged = sources_of(evidence.trials, [](const Trial &trial) { return trial.is_acknowledged(); });
    if (evidence.rows.empty()) {
        if (!acknowledged.empty()) {
            violations.push_back({Property::nothing_lost, describe(scope) + " has no row", acknowledged});
        }
        return;
    }
    for (const Trial &trial : evidence.trials) {
        if (!trial.is_acknowledged()) {
            continue;
        }
        const auto row = std::find_if(evidence.rows.begin(), evidence.rows.end(),
                                      [&](const Stored &stored) { return stored.row->id == trial.answer->id; });
        if (row == evidence.rows.end()) {
            violations.push_back(
                {Property::acknowledged_stored,
                 describe(scope) + " was answered " + trial.answer->id + " and has " + evidence.rows.front().row->id,
                 {trial.source()}});
        }
        const auto &stored = row == evidence.rows.end() ? evidence.rows.front() : *row;
        if (stored.content != trial.content) {
            violations.push_back({Property::changed_never_acknowledged,
                                  describe(scope) + " was asked for " + trial.content + " and has " + stored.content,
                                  {trial.call->source, trial.source()}});
        }
    }
}

// All who are given a transaction are given the same one, and at most one of them has made it.
void check_ids(const Scope &scope, const ScopeEvidence &evidence, Violations &violations)
{
    std::set<std::string> ids;
    for (const Trial &trial : evidence.trials) {
        if (trial.is_acknowledged()) {
            ids.insert(trial.answer->id);
        }
    }
    if (ids.size() > 1) {
        violations.push_back({Property::one_id,
                              describe(scope) + " was answered with " + std::to_string(ids.size()) + " ids",
                              sources_of(evidence.trials, [](const Trial &trial) { return trial.is_acknowledged(); })});
    }
    const auto created = sources_of(
        evidence.trials, [](const Trial &trial) { return trial.answer && trial.answer->outcome == Outcome::created; });
    if (created.size() > 1) {
        violations.push_back({Property::created_once,
                              describe(scope) + " was answered created " + std::to_string(created.size()) + " times",
                              created});
    }
}

// Whether a trial may be the one that another one replays: it had the same content, and was sent before the answer.
bool is_origin(const Trial &origin, const Trial &replay)
{
    return &origin != &replay && origin.content == replay.content && origin.call->at <= replay.call->ending->at;
}

// A replay at the first attempt needs somebody else who sent the same; later attempts replay the call's own.
void check_origins(const Scope &scope, const ScopeEvidence &evidence, Violations &violations)
{
    for (const Trial &replay : evidence.trials) {
        if (!replay.answer || replay.answer->outcome != Outcome::replayed || replay.call->ending->attempts > 1) {
            continue;
        }
        if (std::none_of(evidence.trials.begin(), evidence.trials.end(),
                         [&](const Trial &origin) { return is_origin(origin, replay); })) {
            violations.push_back({Property::replay_has_origin,
                                  describe(scope) + " was replayed before another call had sent it",
                                  {replay.source()}});
        }
    }
}

// A conflict needs a row with other content.
void check_conflicts(const Scope &scope, const ScopeEvidence &evidence, Violations &violations)
{
    for (const Trial &trial : evidence.trials) {
        if (!trial.answer || trial.answer->outcome != Outcome::conflict) {
            continue;
        }
        if (std::none_of(evidence.rows.begin(), evidence.rows.end(),
                         [&](const Stored &stored) { return stored.content != trial.content; })) {
            violations.push_back({Property::conflict_only_changed,
                                  describe(scope) + (evidence.rows.empty() ? " has no row" : " has that very content"),
                                  {trial.call->source, trial.source()}});
        }
    }
}

} // namespace

void check_answers(const Scope &scope, const ScopeEvidence &evidence, Violations &violations)
{
    check_acknowledged(scope, evidence, violations);
    check_ids(scope, evidence, violations);
    check_origins(scope, evidence, violations);
    check_conflicts(scope, evidence, violations);
}

} // namespace idem::verify
