#pragma once

#include "stats.h"

#include <optional>
#include <string>
#include <string_view>

#include "pg.h"

namespace idem::pg {

/// The scope of a call; of a batch as a whole, its operation alone.
struct CallScope {
    std::string_view tenant_id;
    std::string_view operation;
    std::string_view idempotency_key;
};

/// Writes how one call ended into the server's log, as idem.log_outcomes says. Made before the call, because what a
/// failed call leaves behind does not serve to convert texts.
class OutcomeLog {
public:
    /// `scope` is in the database encoding, and must live as long.
    explicit OutcomeLog(const CallScope &scope);

    /// Whether any call is logged now.
    static bool wanted();

    /// Whether a call that ended so is logged.
    bool takes(Counter result) const;

    /// Log it; `transaction_id` is in UTF-8.
    void write(Counter result, const std::optional<std::string> &transaction_id) const;

private:
    int level_;
    CallScope utf8_;
};

} // namespace idem::pg
