#pragma once

#include "binding.h"
#include "ledger.h"

#include "pg.h"

namespace idem::pg {

/// The statements of a batch: those of a single call, over the rows of idem's own function _idem_batch_rows().
enum class BatchStatement {
    insert_any,   // RETURNING id, in the order of the rows
    insert_scope, // so does this one
    fetch_scope,  // the columns of BatchColumn
    fetch_order,  // so does this one
    count
};

/// The columns of a row that a batch finds.
enum BatchColumn {
    kFoundPlace,
    kFoundId,
    kFoundHash,
    kFoundVersion,
    kFoundCreatedAt,
    kFoundSameScope,
    kFoundSameOrder
};

/// The ledger as a binding, for as long as one call runs; calls nest, since a trigger may call idem again. Their plans
/// are kept, and freed only when no other call uses them.
class LedgerBinding final : public Binding {
public:
    explicit LedgerBinding(const Ledger &ledger);
    ~LedgerBinding() override;
    LedgerBinding(const LedgerBinding &) = delete;
    LedgerBinding &operator=(const LedgerBinding &) = delete;

    /// Raises 55000 where the ledger was replaced within a call on it.
    SPIPlanPtr plan(Statement statement) const override;
    /// The same for a batch's statement, which takes no parameters. Server code.
    SPIPlanPtr plan(BatchStatement statement) const;
    void read(HeapTuple tuple, TupleDesc descriptor, Row &row) const override;
    void read_stored(HeapTuple tuple, TupleDesc descriptor, Row &row) const override;
    DirectResult claim_directly(const Row &row, Row &found) const override;
    bool renamed() const override;
    const Ledger &ledger() const { return ledger_; }

private:
    void check_kept() const;
    const char *source(bool fetches) const;

    const Ledger ledger_;
};

} // namespace idem::pg
