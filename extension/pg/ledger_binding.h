#pragma once

#include "binding.h"

#include "pg.h"

namespace idem::pg {

/// The ledger's columns in the order of the table, which is that of the insert statements' parameters and of the rows
/// that come back: a select of all columns in their order needs no projection.
enum LedgerColumn {
    kTenantId,
    kId,
    kOperation,
    kIdempotencyKey,
    kRequestHash,
    kHashVersion,
    kAmountMinor,
    kCurrency,
    kOrderRef,
    kDetails,
    kCreatedAt,
    kLedgerColumns
};

/// The ledger as a binding, for as long as one call runs; calls nest, since a trigger may call idem again. Their plans
/// are kept, and freed only when no other call uses them.
class LedgerBinding final : public Binding {
public:
    explicit LedgerBinding(const Table &ledger);
    ~LedgerBinding() override;
    LedgerBinding(const LedgerBinding &) = delete;
    LedgerBinding &operator=(const LedgerBinding &) = delete;

    /// Raises 55000 where the ledger was replaced within a call on it.
    SPIPlanPtr plan(Statement statement) const override;
    void read(HeapTuple tuple, TupleDesc descriptor, Row &row) const override;
    bool renamed() const override;
};

} // namespace idem::pg
