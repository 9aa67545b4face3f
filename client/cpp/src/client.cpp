#include <idem/client.hpp>

#include "attempts.h"
#include "batch.h"
#include "calls.h"
#include "decode.h"
#include "encode.h"
#include "fitting.h"
#include "pool.h"
#include "raise.h"
#include "server_error.h"
#include "session.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <new>
#include <utility>

namespace idem::client {
namespace {

// Opens a transaction and makes the call in it, in one round trip.
Result begin_and_call(Session &session, const Statement &call)
{
    const std::array<Statement, 2> statements{{{"BEGIN"}, call}};
    const std::vector<ResultPtr> results = session.wire().run_together(statements);
    if (const PGresult *failed = first_failure(results)) {
        raise(failure_of(session.native(), failed));
    }
    return decode_result(results[1].get());
}

// What an attempt finds that an earlier one left in doubt was perhaps committed on this server only, and a replay
// writes nothing that would wait for the standbys.
void wait_if_replayed(Session &session, bool replayed_in_doubt)
{
    if (replayed_in_doubt) {
        session.wait_for_standbys();
    }
}

std::string version_of(Session &session)
{
    const ResultPtr result = session.wire().run({session.home().calls().version.c_str()});
    return {PQgetvalue(result.get(), 0, 0), static_cast<std::size_t>(PQgetlength(result.get(), 0, 0))};
}

} // namespace

const char *version() noexcept
{
    return IDEM_VERSION;
}

ResultCache::~ResultCache() = default;

class Client::Implementation {
public:
    explicit Implementation(ClientOptions options) : options_(std::move(options)), pool_(options_) {}

    Result create(const Request &request, std::string Calls::*call);
    Result once(const Request &request, const std::function<void(Transaction &, const Result &)> &action);
    std::vector<BatchResult> create_many(std::span<const Request> requests, BatchMode mode);
    void transact(const std::function<void(Transaction &)> &action);
    Transaction begin();
    std::string server_version();

private:
    using WhenInDoubt = Attempts::WhenInDoubt;

    // Runs the body with a session until it succeeds, or is not to be repeated. The body may hand the session to others
    // meanwhile, and return without it. `outcome_of` says what the hook is told of its result.
    template <typename Body, typename OutcomeOf>
    auto repeat(const Request *request, WhenInDoubt when_in_doubt, Body body, OutcomeOf outcome_of);

    void check_version(Session &session);
    std::optional<Result> find(const Request &request) const;
    void store(const Request &request, const Result &result) const;
    template <typename F>
    static std::unique_ptr<Session> run_action(std::unique_ptr<Session> session, F action);
    std::vector<BatchResult> call_batch(Session &session, Batch &batch, bool in_doubt) const;

    const ClientOptions options_;
    Pool pool_;
    std::atomic<bool> version_fits_ = false;
};

template <typename Body, typename OutcomeOf>
auto Client::Implementation::repeat(const Request *request, WhenInDoubt when_in_doubt, Body body, OutcomeOf outcome_of)
{
    Attempts attempts(options_, request, when_in_doubt);
    for (;;) {
        std::unique_ptr<Session> session;
        // A session goes back at the end of each attempt; only one that is idle then is kept.
        const auto give_back = [&] {
            if (session) {
                session->roll_back();
                pool_.give(std::move(session));
            }
        };
        attempts.start();
        try {
            session = pool_.take(attempts.deadline());
            attempts.reached(session->instance());
            session->use_until(attempts.deadline());
            check_version(*session);
            auto result = body(session, attempts);
            give_back();
            attempts.succeeded(outcome_of(result));
            return result;
        } catch (const Error &error) {
            const bool uncertain = session && session->uncertain();
            const Action action = action_after(error.sqlstate());
            if ((action == Action::unknown || action == Action::reconnect || uncertain) &&
                !attempts.instance().empty()) {
                pool_.distrust(attempts.instance());
            }
            give_back();
            attempts.failed(error, uncertain);
        } catch (const std::bad_alloc &) {
            const bool uncertain = session && session->uncertain();
            give_back();
            if (uncertain || attempts.in_doubt()) {
                attempts.failed(out_of_memory(), uncertain);
            }
            attempts.ended_by_application();
            throw;
        } catch (...) {
            give_back();
            attempts.ended_by_application();
            throw;
        }
    }
}

// Compares the versions once, on the first connection that gets so far.
void Client::Implementation::check_version(Session &session)
{
    if (version_fits_) {
        return;
    }
    std::string extension;
    try {
        extension = version_of(session);
    } catch (const Error &error) {
        constexpr std::array kMissing{"42883", "3F000"}; // undefined_function, invalid_schema_name
        if (std::find(kMissing.begin(), kMissing.end(), error.sqlstate()) == kMissing.end()) {
            throw;
        }
        raise({error.sqlstate(), "the extension idem is not in this database, or not found there",
               "The server said: " + error.message() + ".",
               "Run CREATE EXTENSION idem in it, or name its schema in ClientOptions::schema."});
    }
    if (!versions_fit(version(), extension)) {
        raise({"55000", "the versions of the client and of the extension do not fit",
               "The client is " + std::string(version()) + ", the extension " + extension + ".",
               "Use a client of the extension's release."});
    }
    version_fits_ = true;
}

std::optional<Result> Client::Implementation::find(const Request &request) const
{
    return options_.cache ? options_.cache->find(request) : std::nullopt;
}

void Client::Implementation::store(const Request &request, const Result &result) const
{
    if (options_.cache && is_stored(result.outcome)) {
        options_.cache->store(request, result);
    }
}

// Runs the application's part of a transaction, and gives the session back with the transaction still open.
template <typename F>
std::unique_ptr<Session> Client::Implementation::run_action(std::unique_ptr<Session> session, F action)
{
    session->managed = true;
    Transaction tx(std::move(session));
    action(tx);
    if (!tx.session_ || tx.session_->ended() || PQtransactionStatus(tx.native()) == PQTRANS_IDLE) {
        raise({"2D000", "the action has ended the transaction",
               "What it wrote until then is committed or rolled back, as it chose; the rest is rolled back."});
    }
    return std::move(tx.session_);
}

Result Client::Implementation::create(const Request &request, std::string Calls::*call)
{
    check(request);
    if (auto found = find(request)) {
        return *found;
    }
    const CallParameters parameters(request);
    const Statement statement = parameters.statement(pool_.calls().*call);
    Result result = repeat(
        &request, WhenInDoubt::repeat,
        [&](std::unique_ptr<Session> &session, const Attempts &attempts) {
            if (!attempts.in_doubt()) {
                return session->committing([&](Wire &wire) { return wire.run(statement); }, &decode_result);
            }
            Result one = begin_and_call(*session, statement);
            wait_if_replayed(*session, one.outcome == Outcome::replayed);
            session->commit();
            return one;
        },
        [](const Result &one) { return std::optional(one.outcome); });
    store(request, result);
    return result;
}

Result Client::Implementation::once(const Request &request,
                                    const std::function<void(Transaction &, const Result &)> &action)
{
    check(request);
    if (auto found = find(request)) {
        return *found;
    }
    const CallParameters parameters(request);
    const Statement statement = parameters.statement(pool_.calls().create);
    Result result = repeat(
        &request, WhenInDoubt::repeat,
        [&](std::unique_ptr<Session> &session, const Attempts &attempts) {
            Result one = begin_and_call(*session, statement);
            if (one.outcome == Outcome::created) {
                session = run_action(std::move(session), [&](Transaction &tx) { action(tx, one); });
            }
            wait_if_replayed(*session, attempts.in_doubt() && one.outcome == Outcome::replayed);
            session->commit();
            return one;
        },
        [](const Result &one) { return std::optional(one.outcome); });
    store(request, result);
    return result;
}

// One attempt of a batch: the batch call by itself, or, where the server does not know it, or an attempt before may
// have been committed, in a transaction.
std::vector<BatchResult> Client::Implementation::call_batch(Session &session, Batch &batch, bool in_doubt) const
{
    const Calls &calls = pool_.calls();
    if (!in_doubt) {
        try {
            return session.committing([&](Wire &wire) { return batch.call(wire, calls); },
                                      [&](const PGresult *answer) { return batch.read(answer); });
        } catch (const Error &error) {
            if (error.sqlstate() != "42883") {
                throw;
            }
        }
    }
    std::vector<BatchResult> answers;
    {
        Wire wire = session.wire();
        if (in_doubt && has_batch_call(wire, calls)) {
            wire.run({"BEGIN"});
            answers = batch.read(batch.call(wire, calls).get());
        } else {
            answers = batch.call_singly(wire, calls, true);
        }
    }
    const auto is_replayed = [](const BatchResult &one) { return one.outcome == Outcome::replayed; };
    wait_if_replayed(session, in_doubt && std::any_of(answers.begin(), answers.end(), is_replayed));
    session.commit();
    return answers;
}

std::vector<BatchResult> Client::Implementation::create_many(std::span<const Request> requests, BatchMode mode)
{
    Batch batch(requests, mode);
    if (batch.decided()) {
        return batch.answers();
    }
    return repeat(
        requests.data(), WhenInDoubt::repeat,
        [&](std::unique_ptr<Session> &session, const Attempts &attempts) {
            return call_batch(*session, batch, attempts.in_doubt());
        },
        [](const auto &) { return std::nullopt; });
}

void Client::Implementation::transact(const std::function<void(Transaction &)> &action)
{
    repeat(
        nullptr, WhenInDoubt::raise,
        [&](std::unique_ptr<Session> &session, const Attempts &) {
            session->wire().run({"BEGIN"});
            session = run_action(std::move(session), action);
            session->commit();
            return true;
        },
        [](bool) { return std::nullopt; });
}

Transaction Client::Implementation::begin()
{
    return repeat(
        nullptr, WhenInDoubt::raise,
        [&](std::unique_ptr<Session> &session, const Attempts &) {
            session->wire().run({"BEGIN"});
            session->use_each(options_.retry.deadline);
            return Transaction(std::move(session));
        },
        [](const Transaction &) { return std::nullopt; });
}

std::string Client::Implementation::server_version()
{
    return repeat(
        nullptr, WhenInDoubt::repeat,
        [&](std::unique_ptr<Session> &session, const Attempts &) { return version_of(*session); },
        [](const std::string &) { return std::nullopt; });
}

Client::Client(ClientOptions options) : implementation_(std::make_unique<Implementation>(std::move(options))) {}

Client::~Client() = default;

Result Client::create_transaction(const Request &request)
{
    return implementation_->create(request, &Calls::create);
}

Result Client::try_create_transaction(const Request &request)
{
    return implementation_->create(request, &Calls::try_create);
}

Result Client::once(const Request &request, const std::function<void(Transaction &tx, const Result &result)> &action)
{
    return implementation_->once(request, action);
}

std::vector<BatchResult> Client::create_transactions(std::span<const Request> requests, BatchMode mode)
{
    return implementation_->create_many(requests, mode);
}

void Client::transact(const std::function<void(Transaction &tx)> &action)
{
    implementation_->transact(action);
}

Transaction Client::begin()
{
    return implementation_->begin();
}

std::string Client::server_version()
{
    return implementation_->server_version();
}

} // namespace idem::client
