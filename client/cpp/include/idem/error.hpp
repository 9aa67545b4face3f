#pragma once

#include <idem/export.hpp>

#include <stdexcept>
#include <string>

namespace idem::client {

/// What went wrong. The root of everything that this library throws; switch on sqlstate(), never on a text.
///
/// The SQLSTATE is the server's. What the library finds out itself has one too: 22023 and 22021 (a request that is
/// refused before it is sent), 08001 (no connection), 08006 (connection lost), 57014 (the deadline passed), 53300 (the
/// pool has no connection to give within the deadline).
/// Messages of this library show no value of a request; those of the server may show the values of the row that was
/// sent.
class IDEM_CLIENT_API Error : public std::runtime_error {
public:
    Error(std::string sqlstate, const std::string &message, std::string detail = {}, std::string hint = {},
          int attempts = 0);
    ~Error() override;

    [[nodiscard]] const std::string &sqlstate() const noexcept { return sqlstate_; }
    [[nodiscard]] std::string message() const { return what(); }
    [[nodiscard]] const std::string &detail() const noexcept { return detail_; }
    [[nodiscard]] const std::string &hint() const noexcept { return hint_; }

    /// How many attempts were made in all; 0 where nothing was sent, or where the caller does the attempts.
    [[nodiscard]] int attempts() const noexcept { return attempts_; }

private:
    std::string sqlstate_;
    std::string detail_;
    std::string hint_;
    int attempts_;
};

/// The idempotency key (ID001) or the order_ref (ID003) belongs to another request. Repeating is useless.
class IDEM_CLIENT_API ConflictError : public Error {
public:
    using Error::Error;
    ~ConflictError() override;
};

/// Another transaction is processing this key or order_ref (ID002): its outcome is not known yet, ask again later.
class IDEM_CLIENT_API InProgressError : public Error {
public:
    using Error::Error;
    ~InProgressError() override;
};

/// The answer to a COMMIT did not come, or did not say how it ended: the transaction may or may not have taken effect.
/// Thrown where the library may not find out by repeating: for a transaction without an idem call. sqlstate() is ID006.
class IDEM_CLIENT_API InDoubtError : public Error {
public:
    using Error::Error;
    ~InDoubtError() override;
};

/// The deadline or the number of attempts ran out. sqlstate() and texts are those of the last failure. Where the
/// deadline ended the last attempt, detail() tells what the one before failed with.
class IDEM_CLIENT_API RetriesExhausted : public Error {
public:
    RetriesExhausted(const Error &last, int attempts, bool in_doubt);
    ~RetriesExhausted() override;

    /// True where an attempt may have been committed. To find out, repeat the same request with the same key later: it
    /// is `replayed` if it took effect.
    [[nodiscard]] bool in_doubt() const noexcept { return in_doubt_; }

private:
    bool in_doubt_;
};

} // namespace idem::client
