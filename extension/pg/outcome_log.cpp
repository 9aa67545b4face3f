#include "outcome_log.h"

#include "../core/escape.h"
#include "boundary.h"
#include "encoding.h"
#include "guc.h"

#include <utility>

#include "pg.h"

namespace idem::pg {
namespace {

// What the log calls each result, in the order of Counter; those of idem_outcome have their labels.
constexpr const char *kLabels[] = {"created",     "replayed",    "conflict",
                                   "order_taken", "in_progress", "serialization_failure"};

// Append a member of an object. In ASCII only: databases of one server may write to one log in
// several encodings.
void append_member(std::string &line, const char *name, std::string_view value)
{
    line += line.empty() ? "{\"" : ",\"";
    line += name;
    line += "\":";
    core::append_escaped(line, value, core::Escape::non_ascii);
}

void append_null(std::string &line, const char *name)
{
    line += line.empty() ? "{\"" : ",\"";
    line += name;
    line += "\":null";
}

} // namespace

OutcomeLog::OutcomeLog(const CallScope &scope) : level_(log_outcomes)
{
    if (wanted()) {
        utf8_ = {to_utf8(scope.tenant_id), to_utf8(scope.operation), to_utf8(scope.idempotency_key)};
    }
}

bool OutcomeLog::wanted()
{
    return log_outcomes != kLogNone;
}

bool OutcomeLog::takes(Counter result) const
{
    return level_ == kLogAll ||
           (level_ == kLogConflict &&
            (result == Counter::conflict || result == Counter::order_taken || result == Counter::in_progress));
}

void OutcomeLog::write(Counter result, const std::optional<std::string> &transaction_id) const
{
    std::string line;
    append_member(line, "outcome", kLabels[static_cast<size_t>(result)]);
    for (const auto &[name, value] : {std::pair("tenant_id", utf8_.tenant_id), std::pair("operation", utf8_.operation),
                                      std::pair("idempotency_key", utf8_.idempotency_key)}) {
        if (value.empty()) { // a batch as a whole
            append_null(line, name);
        } else {
            append_member(line, name, value);
        }
    }
    if (transaction_id) {
        append_member(line, "transaction_id", *transaction_id);
    } else {
        append_null(line, "transaction_id");
    }
    append_member(line, "application_name", application_name); // the server keeps it in ASCII
    line += '}';
    const char *text = line.c_str();
    backend([text] {
        error_context_stack = nullptr; // nobody shall add to the line; the callers' contexts come back behind the wall
        ereport(LOG_SERVER_ONLY, (errmsg_internal("idem: %s", text), errhidestmt(true), errhidecontext(true)));
    });
}

} // namespace idem::pg
