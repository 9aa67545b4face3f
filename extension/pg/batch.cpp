#include "batch.h"

#include "../core/errcodes.h"
#include "../core/fingerprint.h"
#include "../core/waves.h"
#include "batch_fetch.h"
#include "boundary.h"
#include "bounded_insert.h"
#include "engine.h"
#include "ledger_request.h"
#include "refusals.h"
#include "statements.h"

#include <algorithm>
#include <iterator>

#include "pg.h"

namespace idem::pg {
namespace {

using core::Waves;
namespace sqlstate = core::sqlstate;

// From so many requests on a look for one of them costs next to nothing.
constexpr size_t kProbedBatch = 10;

// The row that an entry became.
FoundRow own_row(const BatchEntry &entry, uint32_t place)
{
    return {place,
            entry.id,
            core::kHashVersion,
            entry.hash,
            entry.hash.size(),
            GetCurrentTransactionStartTimestamp(),
            true,
            !entry.call.request.order_ref.null};
}

class Decision {
public:
    Decision(const LedgerBinding &binding, std::vector<BatchEntry> &entries);

    void run();

private:
    using Places = std::vector<uint32_t>;

    void look(bool first);
    void run_wave();
    void insert(BatchStatement statement);
    void settle_scopes(const Places &places);
    void settle_orders();
    void settle_inserted(const Places &inserted);
    void settle_created(const FoundRow &row);
    void settle_scope(const FoundRow &row);
    void settle_order(const FoundRow &row);
    void settle(uint32_t place, Outcome outcome, const FoundRow &row);
    void drop_settled();

    const LedgerBinding &binding_;
    std::vector<BatchEntry> &entries_;
    Waves waves_;
    Places open_; // of this wave, in the order of scopes
};

std::vector<core::WaveItem> wave_items(const std::vector<BatchEntry> &entries)
{
    std::vector<core::WaveItem> items;
    items.reserve(entries.size());
    for (const BatchEntry &entry : entries) {
        const Request &request = entry.call.request;
        items.push_back({entry.call.tenant_id.octets, request.operation.octets, entry.call.idempotency_key.octets, {}});
        if (!request.order_ref.null) {
            items.back().order_ref = request.order_ref.octets;
        }
    }
    return items;
}

Decision::Decision(const LedgerBinding &binding, std::vector<BatchEntry> &entries)
    : binding_(binding), entries_(entries), waves_(wave_items(entries))
{
    for (uint32_t place = 0; place < entries.size(); ++place) {
        if (entries[place].outcome == Outcome::invalid) {
            waves_.settle(place);
        }
    }
    // In the order of scopes, in which the rows are inserted: so the ids arrive in the primary key in its own order.
    for (const uint32_t place : waves_.by_scope()) {
        entries_[place].id = new_id();
    }
}

void Decision::run()
{
    for (bool first = true;; first = false) {
        open_ = waves_.next();
        if (open_.empty()) {
            return;
        }
        // A role that may not insert at all is refused by the insert, also on replays.
        if (backend([&] { return may_access(binding_.table.relation, ACL_INSERT); })) {
            look(first);
        }
        run_wave();
    }
}

// Settle those that have a row already, before an insert is tried, where that has to be or pays.
void Decision::look(bool first)
{
    if (first && waves_.holds_back()) {
        // Some wait for an order_ref that nobody in this batch may get in the end. With all scopes settled that have a
        // row there are few waves.
        settle_scopes(waves_.scopes());
        return;
    }
    if (!looks_first(binding_)) {
        // An insert that yields costs more than a look. A batch that comes again has rows for all it asks for, so that
        // one request tells; where most of them are new, looks would be wasted.
        if (open_.size() < kProbedBatch) {
            return;
        }
        const uint32_t probe = open_.front();
        settle_scopes({probe});
        if (!waves_.is_settled(probe)) {
            return;
        }
    }
    settle_scopes(open_);
}

void Decision::run_wave()
{
    // As in insert_or_fetch(): which unique keys can clash decides how to insert.
    const bool only_scope = !binding_.table.further_unique && std::all_of(open_.begin(), open_.end(), [&](uint32_t p) {
        return entries_[p].call.request.order_ref.null;
    });
    for (int round = 0; round < kRounds && !open_.empty(); ++round) {
        check_interrupts();
        insert(only_scope ? BatchStatement::insert_scope : BatchStatement::insert_any);
        settle_scopes(open_);
        settle_orders();
    }
    if (!open_.empty()) {
        // As there: lets the server report the clash on a further unique key, or waits for the scope.
        insert(BatchStatement::insert_scope);
        settle_scopes(open_);
    }
    if (!open_.empty()) {
        refuse_unseen(binding_);
    }
}

// Insert the open entries; the ids of those that were inserted come back in their order.
void Decision::insert(BatchStatement statement)
{
    Places inserted;
    inserted.reserve(open_.size());
    const bool changed = [&] {
        const BatchRows rows(entries_, open_, BatchRows::Shape::rows);
        return insert_within_limit([&] {
            execute(binding_, binding_.plan(statement), nullptr, nullptr, 0);
            size_t next = 0;
            for (uint64 i = 0; i < SPI_processed && next < open_.size(); ++i) {
                bool null;
                const core::Uuid id = uuid_of(SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1, &null));
                while (next < open_.size() && entries_[open_[next]].id != id) {
                    ++next;
                }
                if (next < open_.size()) {
                    inserted.push_back(open_[next]);
                }
            }
            const bool others = inserted.size() < SPI_processed;
            SPI_freetuptable(SPI_tuptable);
            return others;
        });
    }();
    if (changed) {
        refuse_changed(binding_);
    }
    settle_inserted(inserted);
    drop_settled();
}

// Inserted rows are stored as given, unless a trigger may have changed them or a policy hides them from their maker.
void Decision::settle_inserted(const Places &inserted)
{
    if (!binding_.table.may_change_rows && !binding_.table.row_security) {
        for (const uint32_t place : inserted) {
            settle_created(own_row(entries_[place], place));
        }
        return;
    }
    size_t stored = 0;
    for (const FoundRow &row : fetch_scopes(binding_, entries_, inserted)) {
        if (row.same_scope && row.id == entries_[row.place].id) {
            settle_created(row);
            ++stored;
        }
    }
    if (stored < inserted.size()) {
        refuse_changed(binding_);
    }
}

void Decision::settle_scopes(const Places &places)
{
    for (const FoundRow &row : fetch_scopes(binding_, entries_, places)) {
        if (!row.same_scope) {
            refuse_other_key(binding_.table.scope_index);
        }
        settle_scope(row);
    }
    drop_settled();
}

void Decision::settle_orders()
{
    Places places;
    std::copy_if(open_.begin(), open_.end(), std::back_inserter(places),
                 [&](uint32_t place) { return !entries_[place].call.request.order_ref.null; });
    for (const FoundRow &row : fetch_orders(binding_, entries_, places)) {
        if (row.same_scope) { // it appeared after the look for the scope: a twin, not another order
            settle_scope(row);
        } else if (row.same_order) {
            settle_order(row);
        } else {
            refuse_other_key(binding_.order_index);
        }
    }
    drop_settled();
}

// The entry became this row; the later ones of its scope meet it.
void Decision::settle_created(const FoundRow &row)
{
    settle(row.place, Outcome::created, row);
    waves_.own_order(row.place);
    settle_scope(row);
}

// The scope of the entry has this row.
void Decision::settle_scope(const FoundRow &row)
{
    const StoredFingerprint stored{row.version, {reinterpret_cast<const char *>(row.hash.data()), row.hash_octets}};
    for (const uint32_t place : waves_.same_scope(row.place)) {
        if (same_request(stored, entries_[place].hash)) {
            settle(place, Outcome::replayed, row);
            waves_.own_order(place);
        } else {
            settle(place, Outcome::conflict, row);
        }
    }
}

// The order_ref of the entry has this row, of another scope. The next entry of its own scope that asks for something
// else may still get a row, and then stands in the way of those behind it.
void Decision::settle_order(const FoundRow &row)
{
    waves_.own_order(row.place);
    for (const uint32_t place : waves_.same_scope(row.place)) {
        if (entries_[place].hash != entries_[row.place].hash) {
            break;
        }
        settle(place, Outcome::order_taken, row);
    }
}

void Decision::settle(uint32_t place, Outcome outcome, const FoundRow &row)
{
    BatchEntry &entry = entries_[place];
    entry.outcome = outcome;
    entry.sqlstate = outcome == Outcome::conflict      ? sqlstate::kKeyReused
                     : outcome == Outcome::order_taken ? sqlstate::kOrderTaken
                                                       : nullptr;
    entry.id = row.id;
    entry.created_at = row.created_at;
    waves_.settle(place);
}

void Decision::drop_settled()
{
    std::erase_if(open_, [&](uint32_t place) { return waves_.is_settled(place); });
}

} // namespace

void decide_batch(const LedgerBinding &binding, std::vector<BatchEntry> &entries)
{
    Decision(binding, entries).run();
}

} // namespace idem::pg
