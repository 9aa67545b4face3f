#include <idem/cache.hpp>

#include "breaker.h"
#include "failure.h"
#include "pool.h"
#include "record.h"
#include "warning.h"

#include <initializer_list>
#include <memory>
#include <utility>

namespace idem::cache {

namespace {

constexpr std::chrono::milliseconds kFirstPause{100};
constexpr std::chrono::milliseconds kLongestPause{5000};

// Refuses options that no cache can be run with.
void check(const RedisOptions &options)
{
    constexpr std::chrono::minutes kLongestTimeout{1};
    constexpr std::size_t kMostConnections = 10000;
    if (options.timeout.count() < 1 || options.timeout > kLongestTimeout) {
        throw client::Error("22023", "timeout of the cache must be between 1 ms and 1 min");
    }
    if (options.expiry.count() < 1) {
        throw client::Error("22023", "expiry of the cache must be at least 1 s");
    }
    if (options.connections < 1 || options.connections > kMostConnections) {
        throw client::Error("22023", "connections of the cache must be between 1 and 10000");
    }
}

std::unique_ptr<Endpoint> make_endpoint(const RedisOptions &options)
{
    return options.unix_socket.empty() ? std::make_unique<Endpoint>(options.host, options.port)
                                       : std::make_unique<Endpoint>(options.unix_socket);
}

} // namespace

class Redis::Implementation {
public:
    explicit Implementation(RedisOptions options)
        : timeout_(options.timeout), expiry_(std::to_string(options.expiry.count())), ledger_(options.ledger),
          pool_(make_endpoint(options), Login{options.username, options.password}, options.connections),
          warning_(std::move(options.warn))
    {
    }

    std::optional<client::Result> find(const client::Request &request)
    {
        const auto reply = run({"GET", record_name(request, ledger_)}, Reply::Kind::text);
        if (!reply || reply->kind != Reply::Kind::text) {
            return std::nullopt;
        }
        return read_record(request, ledger_, reply->text);
    }

    void store(const client::Request &request, const client::Result &result)
    {
        if (result.outcome != client::Outcome::created && result.outcome != client::Outcome::replayed) {
            return;
        }
        const auto record = write_record(request, ledger_, result);
        if (!record || record->size() > kLongestText) {
            return;
        }
        auto permit = writing_.ask();
        if (!permit) {
            return;
        }
        const auto reply =
            run({"SET", record_name(request, ledger_), *record, "NX", "EX", expiry_}, Reply::Kind::status);
        if (reply) {
            reply->kind == Reply::Kind::error ? permit->failed() : permit->succeeded();
        }
    }

private:
    // Runs a command within the timeout. Gives nothing where Redis is left alone, and where it fails, which it then is
    // for a while. An error comes back only where other commands may do better: for a key of another type, and for all
    // that is written, since a Redis that is full or a replica can be read.
    std::optional<Reply> run(std::initializer_list<std::string_view> command, Reply::Kind expected)
    {
        auto permit = server_.ask();
        if (!permit) {
            return std::nullopt;
        }
        const auto deadline = Breaker::Clock::now() + timeout_;
        auto lease = pool_.take(deadline);
        if (!lease || !permit->current()) {
            return std::nullopt;
        }
        std::string warning;
        std::optional<Reply> reply;
        try {
            reply = lease->connection(deadline).run(command, deadline);
            const bool refused = reply->kind == Reply::Kind::error;
            if (reply->kind == expected || reply->kind == Reply::Kind::nothing ||
                (refused && reply->error_code() == "WRONGTYPE")) {
                lease->keep();
            } else if (refused && expected == Reply::Kind::status) {
                warning = "the server refuses to write with " + reply->error_code();
            } else {
                throw Failure("the server answered " + (refused ? reply->error_code() : "something unexpected"));
            }
            permit->succeeded();
        } catch (const Failure &failure) {
            permit->failed();
            pool_.close_idle();
            warning = failure.what();
            reply.reset();
        }
        lease.reset(); // a warning takes the time that the application's log takes
        if (!warning.empty()) {
            warning_.say(pool_.endpoint().text(), warning);
        }
        return reply;
    }

    const std::chrono::milliseconds timeout_;
    const std::string expiry_;
    const std::string ledger_;
    Pool pool_;
    Warning warning_;
    Breaker server_{kFirstPause, kLongestPause};
    Breaker writing_{kFirstPause, kLongestPause};
};

Redis::Redis(RedisOptions options)
{
    check(options);
    implementation_ = std::make_unique<Implementation>(std::move(options));
}

Redis::~Redis() = default;

// What goes wrong beside Redis, such as memory that runs out, is a miss as well.

std::optional<client::Result> Redis::find(const client::Request &request) noexcept
{
    try {
        return implementation_->find(request);
    } catch (...) {
        return std::nullopt;
    }
}

void Redis::store(const client::Request &request, const client::Result &result) noexcept
{
    try {
        implementation_->store(request, result);
    } catch (...) { // the result is in the database
    }
}

} // namespace idem::cache
