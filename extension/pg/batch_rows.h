#pragma once

#include "../core/sha256.h"
#include "../core/uuid.h"
#include "arguments.h"
#include "call_site.h"

#include <cstdint>
#include <vector>

#include "pg.h"

namespace idem::pg {

/// One request of a batch, and what becomes of it.
struct BatchEntry {
    Call call;
    core::Sha256 hash;
    core::Uuid id; // of the transaction: a new one, until one is found
    Outcome outcome;
    const char *sqlstate; // that the single call would raise; NULL: none
    TimestampTz created_at;
};

/// While one lives, the SQL function _idem_batch_rows() gives these entries, once: whole rows, or just what they are
/// looked for by. A statement of a trigger may run a batch of its own meanwhile.
class BatchRows {
public:
    enum class Shape { rows, keys };

    BatchRows(const std::vector<BatchEntry> &entries, const std::vector<uint32_t> &places, Shape shape);
    ~BatchRows();
    BatchRows(const BatchRows &) = delete;
    BatchRows &operator=(const BatchRows &) = delete;

    /// Put them into the result of the function. Server code.
    static void give(FunctionCallInfo fcinfo);

private:
    void put(const ReturnSetInfo &result) const;

    const std::vector<BatchEntry> &entries_;
    const std::vector<uint32_t> &places_;
    Shape shape_;
    const BatchRows *outer_;
};

} // namespace idem::pg
