#pragma once

#include "batch_rows.h"
#include "ledger_request.h"
#include "observe.h"

#include <optional>
#include <string>
#include <vector>

#include "pg.h"

namespace idem::pg {

/// The scope of an entry.
inline CallScope scope_of(const BatchEntry &entry)
{
    return {entry.call.tenant_id.octets, entry.call.request.operation.octets, entry.call.idempotency_key.octets};
}

/// What stands for a batch as a whole: the operation of its first valid entry, and neither tenant nor key.
CallScope scope_of(const std::vector<BatchEntry> &entries);

/// Have each outcome counted and logged.
void observe_outcomes(const std::vector<BatchEntry> &entries);

/// Run the part of a batch that inserts or fetches, and have its waits counted, and the error that it ends with.
template <typename F>
void observe_batch(const std::vector<BatchEntry> &entries, F body)
{
    observe(scope_of(entries), body, []() -> std::optional<std::string> { return {}; });
}

/// Run what raises the error of an entry, and have that counted and logged.
template <typename F>
void observe_refusal(const BatchEntry &entry, F body)
{
    observe(scope_of(entry), body, [&] { return id_text(entry.id); });
}

} // namespace idem::pg
