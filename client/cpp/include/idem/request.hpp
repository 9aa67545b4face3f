#pragma once

#include <idem/key.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace idem::client {

/// A business request, as idem_create_transaction() takes it (docs/reference.md). Texts are UTF-8.
/// There is no request without a key: Key has no default.
struct Request {
    std::string tenant_id;                        ///< Whose request it is: 1 to 255 octets.
    Key key;                                      ///< Names the request; the same on every try.
    std::int64_t amount_minor;                    ///< In the currency's minor unit (cents, for EUR); above 0.
    std::string currency;                         ///< Three letters A-Z.
    std::string details = "{}";                   ///< A JSON object as text; sent octet by octet as it is here.
    std::string operation = "create-transaction"; ///< What the request does: 1 to 100 octets.
    std::optional<std::string> order_ref = {};    ///< The business's own number: 1 to 255 octets.
};

/// What became of a request. The last three come from the calls that do not raise them.
enum class Outcome {
    created,     ///< The row was inserted now.
    replayed,    ///< The same request had created it before.
    conflict,    ///< The key belongs to a request with other content (ID001).
    order_taken, ///< The order_ref has a transaction with another key (ID003).
    invalid,     ///< Only in a batch: the request breaks a rule.
};

/// The name of an outcome, as the server has it.
[[nodiscard]] IDEM_CLIENT_API const char *to_string(Outcome outcome) noexcept;

/// A moment as PostgreSQL keeps it: microseconds, UTC. Its infinity is Timestamp::max(), as is what lies beyond that;
/// -infinity is Timestamp::min().
using Timestamp = std::chrono::sys_time<std::chrono::microseconds>;

/// The stored transaction. With the outcomes conflict and order_taken, all else is empty or 0.
struct Result {
    Outcome outcome = Outcome::created;
    std::string transaction_id; ///< A UUID as text.
    std::int64_t amount_minor = 0;
    std::string currency;
    std::string details; ///< JSON text as jsonb prints it; no digit of a number is lost.
    std::optional<std::string> order_ref;
    Timestamp created_at;

    friend bool operator==(const Result &, const Result &) = default;
};

/// The answer for one request of a batch, at its place.
struct BatchResult {
    Outcome outcome = Outcome::invalid;
    std::optional<std::string> transaction_id; ///< Of created and replayed.
    std::optional<std::string> sqlstate;       ///< What the single call would raise; of the other outcomes.
    std::optional<Timestamp> created_at;       ///< Of created and replayed.
};

/// Throws Error 22023 or 22021, as the server would, where a request breaks a rule that can be seen without the server:
/// lengths, characters, amount, currency. What is JSON, the server decides.
IDEM_CLIENT_API void check(const Request &request);

} // namespace idem::client
