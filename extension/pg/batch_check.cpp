#include "batch_check.h"

#include "../core/error.h"
#include "boundary.h"
#include "engine.h"
#include "ledger.h"
#include "ledger_request.h"
#include "refusals.h"
#include "scratch.h"

#include <string>
#include <string_view>

#include "pg.h"

namespace idem::pg {
namespace {

using core::Error;

[[noreturn]] void raise_with_place(const Error &error, size_t place)
{
    const std::string detail = error.detail().empty() ? "" : " " + error.detail();
    throw Error(error.sqlstate(), error.message(),
                "This is request " + std::to_string(place + 1) + " of the batch." + detail, error.hint());
}

// Whether the error is about what was sent: classes "data exception" and "program limit exceeded".
bool is_about_request(const Error &error)
{
    const std::string_view code = error.sqlstate();
    return code.starts_with("22") || code.starts_with("54");
}

[[noreturn]] void refuse(const LedgerBinding &binding, const BatchEntry &entry)
{
    if (entry.outcome == Outcome::order_taken) {
        refuse_order();
    }
    Row stored = backend([] { return make_row(kLedgerColumns); });
    if (!find_by_scope(binding, ledger_row(entry.call, entry.hash, entry.id), stored)) {
        refuse_deleted();
    }
    refuse_reuse(stored, entry.call.request);
}

} // namespace

void check_batch(std::vector<BatchEntry> &entries, bool raise)
{
    Scratch scratch;
    for (size_t place = 0; place < entries.size(); ++place) {
        check_interrupts();
        BatchEntry &entry = entries[place];
        try {
            entry.call.check();
            entry.hash = entry.call.request.fingerprint();
        } catch (const Error &error) {
            if (!is_about_request(error)) {
                throw;
            }
            if (raise) {
                raise_with_place(error, place);
            }
            entry.outcome = Outcome::invalid;
            entry.sqlstate = error.sqlstate();
        }
        scratch.reset();
    }
    scratch.release();
}

void refuse_entry(const LedgerBinding &binding, const std::vector<BatchEntry> &entries, size_t place)
{
    try {
        refuse(binding, entries[place]);
    } catch (const Error &error) {
        raise_with_place(error, place);
    }
}

} // namespace idem::pg
