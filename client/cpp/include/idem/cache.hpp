#pragma once

#include <idem/client.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace idem::cache {

struct RedisOptions {
    std::string host = "127.0.0.1";
    std::uint16_t port = 6379;
    std::string unix_socket = {}; ///< Instead of host and port.
    std::string username = {};
    std::string password = {};
    /// The most that a lookup, or keeping a result, adds to a call: connecting and answering together.
    std::chrono::milliseconds timeout{50};
    /// How long a result is kept.
    std::chrono::seconds expiry{24 * 3600};
    /// The most connections at a time.
    std::size_t connections = 8;
    /// Names the database whose results these are, where several use one Redis; part of the keys then.
    std::string ledger = {};
    /// Called at most once a minute while Redis fails, with what it said. Default: a line on standard error.
    std::function<void(std::string_view)> warn = {};
};

/// Completed results in Redis, under the key `idem:{tenant:operation:key}` (the braces keep a key's data on one node of
/// a cluster). A result is kept together with a digest of every octet of its request, and given back for the same
/// octets only; all else is a miss. After a failure Redis is left alone for a while, so that one that hangs does not
/// slow every call down. Redis that is down, slow, flushed or failed over changes the latency and nothing else.
class IDEM_CLIENT_API Redis final : public client::ResultCache {
public:
    /// Connects when first used. Throws Error 22023 for options that make no sense, nothing for a server that is not
    /// there.
    explicit Redis(RedisOptions options);
    ~Redis() override;
    std::optional<client::Result> find(const client::Request &request) noexcept override;
    void store(const client::Request &request, const client::Result &result) noexcept override;

private:
    class Implementation;
    std::unique_ptr<Implementation> implementation_;
};

} // namespace idem::cache
