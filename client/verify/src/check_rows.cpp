#include "evidence.hpp"

#include <algorithm>

namespace idem::verify {

namespace {

// The lines that sent something for the scope.
std::vector<Source> all_sources(const ScopeEvidence &evidence)
{
    std::vector<Source> sources;
    for (const Trial &trial : evidence.trials) {
        sources.push_back(trial.source());
    }
    return sources;
}

// A row needs a request with its content, and one of those must be able to have made it.
void check_origin(const Scope &scope, const ScopeEvidence &evidence, Violations &violations)
{
    if (evidence.rows.size() > 1) {
        violations.push_back({Property::one_row,
                              describe(scope) + " has " + std::to_string(evidence.rows.size()) + " rows",
                              all_sources(evidence)});
    }
    for (const Stored &stored : evidence.rows) {
        if (evidence.trials.empty()) {
            violations.push_back({Property::nothing_unsent, describe(scope) + " has the row " + stored.row->id});
            continue;
        }
        const auto has_content = [&](const Trial &trial) { return trial.content == stored.content; };
        const auto may_be_origin = [&](const Trial &trial) { return has_content(trial) && trial.may_have_created(); };
        const auto &trials = evidence.trials;
        if (std::none_of(trials.begin(), trials.end(), has_content)) {
            violations.push_back({Property::stored_was_sent, describe(scope) + " has the content " + stored.content,
                                  all_sources(evidence)});
        } else if (std::none_of(trials.begin(), trials.end(), may_be_origin)) {
            violations.push_back({Property::sure_failure,
                                  describe(scope) + " has the row " + stored.row->id + ", and nobody can have made it",
                                  all_sources(evidence)});
        }
    }
}

// Scopes that are served by Client::once have one business row with their transaction's id, all others none.
void check_postings(const Scope &scope, const ScopeEvidence &evidence, Violations &violations)
{
    const bool posts = std::any_of(evidence.trials.begin(), evidence.trials.end(),
                                   [](const Trial &trial) { return trial.call->kind == Kind::once; });
    for (const Stored &stored : evidence.rows) {
        const auto count =
            std::count_if(evidence.postings.begin(), evidence.postings.end(), [&](const Posting *posting) {
                return posting->transaction_id == stored.row->id && posting->amount_minor == stored.row->amount_minor;
            });
        if (posts && count != 1) {
            violations.push_back({Property::posted_once,
                                  describe(scope) + " has " + std::to_string(count) + " business rows of its content",
                                  all_sources(evidence)});
        }
    }
    for (const Posting *posting : evidence.postings) {
        const bool has_row = std::any_of(evidence.rows.begin(), evidence.rows.end(), [&](const Stored &stored) {
            return posting->transaction_id == stored.row->id;
        });
        if (!has_row || !posts) {
            violations.push_back({Property::posted_nothing_else,
                                  describe(scope) + " has a business row of call " + posting->process + " " +
                                      std::to_string(posting->number) + " for " + posting->transaction_id,
                                  all_sources(evidence)});
        }
    }
}

} // namespace

void check_rows(const Scope &scope, const ScopeEvidence &evidence, Violations &violations)
{
    check_origin(scope, evidence, violations);
    check_postings(scope, evidence, violations);
}

} // namespace idem::verify
