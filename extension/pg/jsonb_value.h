#pragma once

#include "../core/json.h"

#include "pg.h"

namespace idem::pg {

/// A value inside a jsonb document, as core::JsonValue. It reads the stored form in place; the document must be
/// detoasted and outlive it. Interrupts take effect in name() and child().
class JsonbValue {
public:
    explicit JsonbValue(Jsonb *document);

    core::JsonKind kind() const { return kind_; }
    bool boolean() const { return boolean_; }
    core::Decimal number() const;
    std::string_view string() const;
    size_t size() const { return JsonContainerSize(container_); }
    std::string_view name(size_t index) const;

    /// Throws 54001 where the stack is used up.
    JsonbValue child(size_t index) const;

private:
    JsonbValue(JsonbContainer *container, uint32 entry);

    std::string_view text(uint32 entry) const;

    core::JsonKind kind_ = core::JsonKind::null;
    bool boolean_ = false;
    Numeric numeric_ = nullptr;
    std::string_view string_; // in the database encoding
    JsonbContainer *container_ = nullptr;
};

static_assert(core::JsonValue<JsonbValue>);

} // namespace idem::pg
