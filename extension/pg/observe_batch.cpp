#include "observe_batch.h"

#include "scratch.h"

#include <array>
#include <map>

#include "pg.h"

namespace idem::pg {
namespace {

void count_outcomes(const std::vector<BatchEntry> &entries)
{
    std::map<std::string_view, std::array<uint64, static_cast<size_t>(Outcome::count)>> operations;
    for (const BatchEntry &entry : entries) {
        if (entry.outcome != Outcome::invalid) {
            ++operations[entry.call.request.operation.octets][static_cast<size_t>(entry.outcome)];
        }
    }
    for (const auto &[operation, counts] : operations) {
        OperationCounters counters(operation);
        for (size_t outcome = 0; outcome < counts.size(); ++outcome) {
            if (counts[outcome] > 0) {
                counters.add(static_cast<Counter>(outcome), counts[outcome]);
            }
        }
    }
}

void log_outcomes_of(const std::vector<BatchEntry> &entries)
{
    Scratch scratch;
    for (const BatchEntry &entry : entries) {
        check_interrupts();
        if (entry.outcome == Outcome::invalid) {
            continue;
        }
        const OutcomeLog log(scope_of(entry));
        if (log.takes(static_cast<Counter>(entry.outcome))) {
            log.write(static_cast<Counter>(entry.outcome), id_text(entry.id));
        }
        scratch.reset();
    }
    scratch.release();
}

} // namespace

CallScope scope_of(const std::vector<BatchEntry> &entries)
{
    for (const BatchEntry &entry : entries) {
        if (entry.outcome != Outcome::invalid) {
            return {{}, entry.call.request.operation.octets, {}};
        }
    }
    return {};
}

void observe_outcomes(const std::vector<BatchEntry> &entries)
{
    if (counters_exist()) {
        count_outcomes(entries);
    }
    if (OutcomeLog::wanted()) {
        log_outcomes_of(entries);
    }
}

} // namespace idem::pg
