#pragma once

#include <idem/cache.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

namespace idem::cache::test {

inline client::Request a_request(std::string key = "k-1")
{
    return {.tenant_id = "acme",
            .key = client::Key(std::move(key)),
            .amount_minor = 1000,
            .currency = "EUR",
            .details = R"({"to": "DE89"})",
            .order_ref = "order 7"};
}

/// What the database answered to a_request() when it was new.
inline client::Result its_result()
{
    return {.outcome = client::Outcome::created,
            .transaction_id = "018f3a5c-7d1e-7000-8000-0123456789ab",
            .amount_minor = 1000,
            .currency = "EUR",
            .details = R"({"to": "DE89"})",
            .order_ref = "order 7",
            .created_at = client::Timestamp(std::chrono::microseconds(1764540000123456))};
}

/// The same as it comes back.
inline client::Result its_replay()
{
    auto result = its_result();
    result.outcome = client::Outcome::replayed;
    return result;
}

/// How long something took.
template <typename F>
std::chrono::milliseconds time_of(F body)
{
    const auto start = std::chrono::steady_clock::now();
    body();
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start);
}

/// Options whose timeout a busy machine does not reach by itself, for tests in which Redis answers.
inline RedisOptions patient(std::uint16_t port)
{
    return {.port = port, .timeout = std::chrono::seconds(5)};
}

} // namespace idem::cache::test
