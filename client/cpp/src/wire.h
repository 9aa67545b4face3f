#pragma once

#include "deadline.h"
#include "handles.h"

#include <span>
#include <vector>

namespace idem::client {

/// A statement and its parameters, which stay in the caller's memory.
struct Statement {
    const char *text;
    int count = 0;
    const Oid *types = nullptr;
    const char *const *values = nullptr;
    const int *lengths = nullptr;
    const int *formats = nullptr;
    int result_format = 1;
};

/// Whether the connection takes texts as UTF-8, which requests are; with another encoding they would arrive as other
/// text.
bool speaks_utf8(const PGconn *connection);

/// Throws Error 22023 where it does not.
void check_encoding(const PGconn *connection);

/// Sends statements over a connection and reads the answers, within a deadline. The connection is non-blocking
/// meanwhile.
///
/// When the deadline passes, a cancel is sent, and the answer awaited a little longer: it may tell how it ended.
/// After that the connection must not be used for anything else, because a cancel may strike late.
class Wire {
public:
    /// Sets `cancelled`, if there is one, when it sends a cancel.
    Wire(PGconn *connection, Deadline deadline, bool *cancelled = nullptr);
    Wire(const Wire &) = delete;
    Wire &operator=(const Wire &) = delete;
    ~Wire();

    /// Runs one statement and reads everything up to the server's being ready for the next one; only then has a
    /// statement outside of a transaction been committed. Throws Error.
    ResultPtr run(const Statement &statement);

    /// Runs statements in a pipeline with one sync behind them, and leaves pipeline mode again. Gives a result for
    /// each, some of which may be errors: those behind a failed one are PGRES_PIPELINE_ABORTED. Throws Error where the
    /// connection is lost or the deadline passed.
    std::vector<ResultPtr> run_together(std::span<const Statement> statements);

    [[nodiscard]] PGconn *native() const noexcept { return connection_; }

private:
    void check_time() const;
    void send(const Statement &statement);
    void wait_for(short events);
    void give_more_time();
    void flush();
    ResultPtr next();
    [[noreturn]] void fail(const PGresult *result) const;

    PGconn *connection_;
    Deadline deadline_;
    bool *told_;
    bool was_nonblocking_;
    bool cancelled_ = false;
};

/// Whether a result is that of a statement that succeeded.
bool succeeded(const PGresult *result);

/// The first of the results that is an error of its own, or nullptr.
const PGresult *first_failure(std::span<const ResultPtr> results);

/// Sends COMMIT, and gives the answer. Throws Error, 40000 where the server rolled back instead.
ResultPtr commit(Wire &wire);

} // namespace idem::client
