#pragma once

#include <idem/call.hpp>
#include <idem/error.hpp>
#include <idem/retry.hpp>
#include <idem/transaction.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace idem::client {

/// What a hook learns of one attempt. The views hold while the hook runs. The key is a secret of the business: a log
/// that others read should not hold it.
struct Attempt {
    std::string_view tenant_id; ///< Of the (first) request; empty for a plain transaction.
    std::string_view operation;
    std::string_view key;
    int number = 1;            ///< From 1.
    std::string_view instance; ///< host:port of the server, or empty where none was reached.
    std::string_view sqlstate; ///< Empty where it succeeded.
    std::optional<Outcome> outcome;
    bool commit_known = true;      ///< False where the attempt may or may not have been committed.
    Action action = Action::never; ///< What the table says about the SQLSTATE; never, where it succeeded.
    std::chrono::microseconds duration{0};
};

/// A store of completed results in front of the database. It never decides that a request is new. Both functions return
/// soon and do not throw, whatever happens to the store. The Redis one is in idem/cache.hpp.
class IDEM_CLIENT_API ResultCache {
public:
    virtual ~ResultCache();
    /// The result of exactly this request, or nothing; its outcome is replayed.
    virtual std::optional<Result> find(const Request &request) noexcept = 0;
    /// Keeps a result. Called after its commit is known, never before.
    virtual void store(const Request &request, const Result &result) noexcept = 0;
};

struct ClientOptions {
    /// As libpq takes it: a connection string or URI, several hosts too. What it leaves out comes from libpq's
    /// environment and service file. target_session_attrs is read-write unless given here or there; client_encoding is
    /// always UTF8.
    std::string conninfo = {};
    /// The schema of the extension; empty finds it by the search_path.
    std::string schema = {};
    /// The most connections at a time. Connections are opened when they are needed.
    std::size_t pool_size = 8;
    /// The most for each address of each host, and for the lookup of a name. The others get a fair share of the time
    /// until the deadline, too, and where this is 0, only that bounds it.
    std::chrono::milliseconds connect_timeout{2000};
    RetryPolicy retry = {};
    /// Called after each attempt, on the thread of the call. What it throws is ignored.
    std::function<void(const Attempt &)> on_attempt = {};
    std::shared_ptr<ResultCache> cache = {};
};

/// A pool of connections and the calls with retries. Thread-safe; outlives all that it hands out.
///
/// The whole transaction is the unit of retry, always with the same key and octets. An attempt whose end is not known
/// is repeated: if it was committed, the repeated one is `replayed`.
class IDEM_CLIENT_API Client {
public:
    /// Opens nothing yet. Throws Error 08001 for a connection string that libpq cannot read.
    explicit Client(ClientOptions options);
    Client(const Client &) = delete;
    Client &operator=(const Client &) = delete;
    ~Client();

    /// Creates the transaction or replays it, in a database transaction of its own: one round trip.
    /// Throws ConflictError, InProgressError, RetriesExhausted, Error.
    Result create_transaction(const Request &request);
    /// The same, where a conflict is an outcome.
    Result try_create_transaction(const Request &request);

    /// Does a business action once: opens a transaction, calls, runs `action` only where the outcome is created,
    /// commits, and returns the result. What `action` writes exists exactly if the transaction row does.
    ///
    /// `action` may run again where an attempt was rolled back: it shall change nothing but the database, through `tx`.
    /// An exception that it throws rolls back and comes out, unless it is an Error that the policy repeats.
    Result once(const Request &request, const std::function<void(Transaction &tx, const Result &result)> &action);

    /// Many requests in one database transaction; answers in their order. Throws as create_transaction().
    std::vector<BatchResult> create_transactions(std::span<const Request> requests, BatchMode mode = BatchMode::each);

    /// A transaction without an idem call. It is repeated only where it surely was rolled back. Once COMMIT was sent
    /// and its answer is missing, throws InDoubtError.
    void transact(const std::function<void(Transaction &tx)> &action);

    /// Opens a transaction for the caller, who commits it and does the repeating. Throws RetriesExhausted, Error.
    Transaction begin();

    /// The version of the server's extension. Throws Error.
    std::string server_version();

private:
    class Implementation;
    std::unique_ptr<Implementation> implementation_;
};

/// The version of this library, such as 0.1.0.
[[nodiscard]] IDEM_CLIENT_API const char *version() noexcept;

} // namespace idem::client
