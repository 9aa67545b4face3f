#pragma once

#include <idem/request.hpp>

#include <libpq-fe.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace idem::client {

class Session;

/// A parameter in the text form of its type, or NULL. Numbers are written exactly. Cast in the statement where the
/// server cannot infer the type: `$1::uuid`.
class IDEM_CLIENT_API Parameter {
public:
    Parameter(std::nullopt_t) {}
    Parameter(const char *text) : text_(text) {}
    Parameter(std::string text) : text_(std::move(text)) {}
    Parameter(std::string_view text) : text_(text) {}
    Parameter(std::int64_t number) : text_(std::to_string(number)) {}
    Parameter(int number) : text_(std::to_string(number)) {}
    template <typename T>
    Parameter(const std::optional<T> &value)
    {
        if (value) {
            text_ = Parameter(*value).text_;
        }
    }

    /// The text with its NUL at the end, or nullptr for NULL.
    [[nodiscard]] const char *c_str() const noexcept { return text_ ? text_->c_str() : nullptr; }
    /// False where the text holds a NUL, which would cut it.
    [[nodiscard]] bool complete() const noexcept;

private:
    std::optional<std::string> text_;
};

/// The rows of a statement, as text.
class IDEM_CLIENT_API Rows {
public:
    explicit Rows(PGresult *result) noexcept : result_(result, &PQclear) {}

    [[nodiscard]] int size() const noexcept { return PQntuples(result_.get()); }
    [[nodiscard]] int columns() const noexcept { return PQnfields(result_.get()); }
    /// How many rows a command changed.
    [[nodiscard]] std::int64_t affected() const;
    /// A value, or nothing for NULL. Throws std::out_of_range.
    [[nodiscard]] std::optional<std::string_view> at(int row, int column) const;
    [[nodiscard]] const PGresult *native() const noexcept { return result_.get(); }

private:
    std::unique_ptr<PGresult, void (*)(PGresult *)> result_;
};

/// An open transaction of a Client. It rolls back in its destructor unless it was committed. A connection that is not
/// in order afterwards is closed and never used again.
class IDEM_CLIENT_API Transaction {
public:
    Transaction(const Transaction &) = delete;
    Transaction &operator=(const Transaction &) = delete;
    Transaction(Transaction &&) noexcept;
    Transaction &operator=(Transaction &&) = delete;
    ~Transaction();

    /// Runs one statement with bound parameters. Throws Error; after that only a rollback is left.
    Rows run(const std::string &statement, std::span<const Parameter> parameters = {});
    Rows run(const std::string &statement, std::initializer_list<Parameter> parameters)
    {
        return run(statement, std::span<const Parameter>(parameters.begin(), parameters.size()));
    }

    /// Calls idem_create_transaction() in this transaction. Throws ConflictError, InProgressError, Error; 22023 before
    /// anything is sent where client_encoding is not UTF8.
    Result create_transaction(const Request &request);
    /// Calls idem_try_create_transaction(), where a conflict is an outcome.
    Result try_create_transaction(const Request &request);

    /// Commits. Returns only after the server has said COMMIT. Throws Error where it was rolled back (40000 where the
    /// server answers ROLLBACK, because a statement had failed), InDoubtError where it is not known.
    void commit();
    /// Rolls back; does nothing where the transaction has ended.
    void rollback() noexcept;

    /// The connection, for libpq or a library on top of it. It must stay in this transaction: where that was ended,
    /// also where another one was begun, commit() and the client's own commit fail (25P01, 2D000). All of libpq's
    /// results are seen to that end, of which one tells nothing: ROLLBACK AND CHAIN after a SAVEPOINT.
    [[nodiscard]] PGconn *native() const noexcept;

private:
    friend class Client;
    explicit Transaction(std::unique_ptr<Session> session) noexcept;
    std::unique_ptr<Session> session_;
};

} // namespace idem::client
