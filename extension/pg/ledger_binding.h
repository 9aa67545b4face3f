#pragma once

#include "binding.h"
#include "ledger.h"

#include "pg.h"

namespace idem::pg {

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
    void read(HeapTuple tuple, TupleDesc descriptor, Row &row) const override;
    void read_stored(HeapTuple tuple, TupleDesc descriptor, Row &row) const override;
    DirectResult claim_directly(const Row &row, Row &found) const override;
    bool renamed() const override;

private:
    const Ledger ledger_;
};

} // namespace idem::pg
