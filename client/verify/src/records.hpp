#pragma once

#include <idem/request.hpp>

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

/// What a play leaves behind: the histories of its processes, and the rows in the database.
namespace idem::verify {

using client::Outcome;

/// What there is at most one transaction for.
struct Scope {
    std::string tenant_id;
    std::string operation;
    std::string key;

    friend auto operator<=>(const Scope &, const Scope &) = default; // NOLINT(modernize-use-nullptr): not one here
};

/// A request as it was sent. Unlike client::Request it checks nothing: it is what a file says.
struct Posed {
    Scope scope;
    std::int64_t amount_minor = 0;
    std::string currency;
    std::string details = "{}";
    std::optional<std::string> order_ref = {};

    friend bool operator==(const Posed &, const Posed &) = default;
};

/// A line of a history. Files are held by the History.
struct Source {
    const std::string *file = nullptr;
    int line = 0;

    friend bool operator==(const Source &, const Source &) = default;
};

/// The function that a call used.
enum class Kind {
    once,    ///< Client::once, with a business row.
    create,  ///< Client::create_transaction.
    attempt, ///< Client::try_create_transaction.
    batch,   ///< Client::create_transactions.
};

/// What a call said about one of its requests. The id is that of created and replayed.
struct Answer {
    Outcome outcome = Outcome::invalid;
    std::string id = {};
};

/// How a call ended: with one answer per request, or with an error.
struct Ending {
    Source source;
    std::int64_t at = 0; ///< Microseconds of a clock that all processes share.
    int attempts = 0;
    std::vector<Answer> answers = {};
    std::string sqlstate = {};
    bool in_doubt = false; ///< Of an error: whether an attempt may have been committed all the same.
};

/// A call that was about to be sent when its line was written. Without an ending its process was killed meanwhile.
struct Call {
    std::string process;
    int run = 0; ///< Counts the restarts of the process.
    int lane = 0;
    std::uint64_t number = 0; ///< The same for each time that a call is made again.
    Kind kind = Kind::create;
    std::vector<Posed> requests;
    Source source;
    std::int64_t at = 0;
    std::optional<Ending> ending = {};
};

/// All that the processes of a play wrote down.
struct History {
    std::vector<std::shared_ptr<const std::string>> files;
    std::vector<Call> calls;
    std::map<std::string, std::uint64_t> failed_attempts; ///< By SQLSTATE: those that the client repeated, too.
    std::uint64_t runs = 0;                               ///< Processes that were started.
};

/// A row of the ledger.
struct Row {
    Scope scope;
    std::string id;
    std::int64_t amount_minor = 0;
    std::string currency;
    std::string details = "{}";
    std::optional<std::string> order_ref = {};
};

/// A business row, which the action of Client::once writes.
struct Posting {
    Scope scope;
    std::string transaction_id;
    std::int64_t amount_minor = 0;
    std::string process;
    std::uint64_t number = 0;
};

/// What is in the database.
struct Tables {
    std::vector<Row> rows;
    std::vector<Posting> postings;
};

/// The name of a function, as histories have it.
[[nodiscard]] const char *to_string(Kind kind) noexcept;

/// Whether two requests, or a request and a row, have the same content: all that counts except the scope. Details are
/// compared as JSON, whatever the order of members and the white space.
[[nodiscard]] std::string content_of(const Posed &request);
[[nodiscard]] std::string content_of(const Row &row);

} // namespace idem::verify
