#pragma once

#include <idem/error.hpp>
#include <idem/request.hpp>

#include <libpq-fe.h>

#include <chrono>
#include <span>
#include <string>
#include <vector>

/// The calls on a connection that the application has already (of libpq, libpqxx or another library on libpq). They run
/// in the transaction that is open there, or in one of their own, and repeat nothing. The connection must be idle and
/// its client_encoding UTF8 (else Error 22023). Parameters are bound, results read in the binary form: no setting of
/// the session changes them. A connection is left usable after an error of the server; after 08006 and 57014 by the
/// deadline it is not. Outside of an open transaction the request may have been stored after these two, and after
/// 08P01: an answer that cannot be read. The same call with the same key tells.
namespace idem::client {

struct CallOptions {
    /// The schema of the extension; empty finds it by the search_path.
    std::string schema = {};
    /// How long to wait for the answer; 0 waits as long as it takes. Then a cancel is sent, and Error 57014 is thrown.
    std::chrono::milliseconds timeout{0};
};

/// What happens to a batch in which a request is refused.
enum class BatchMode {
    each, ///< Its answer says so, and the others are served.
    all,  ///< The first refusal is thrown, and nothing is stored.
};

/// Calls idem_create_transaction(). Throws ConflictError, InProgressError, Error.
IDEM_CLIENT_API Result create_transaction(PGconn *connection, const Request &request, const CallOptions &options = {});

/// Calls idem_try_create_transaction(): a conflict is an outcome. Throws InProgressError, Error.
IDEM_CLIENT_API Result try_create_transaction(PGconn *connection, const Request &request,
                                              const CallOptions &options = {});

/// Calls idem_create_transactions(), or, where the server's extension is older than that function, the single calls in
/// one pipeline and one transaction. At most 100,000 requests, else Error 54000. One answer per request, in their
/// order.
IDEM_CLIENT_API std::vector<BatchResult> create_transactions(PGconn *connection, std::span<const Request> requests,
                                                             BatchMode mode = BatchMode::each,
                                                             const CallOptions &options = {});

} // namespace idem::client
