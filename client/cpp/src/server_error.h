#pragma once

#include "raise.h"

#include <libpq-fe.h>

namespace idem::client {

/// What a failed result says, or, without a result, the connection. Where the connection is gone, the SQLSTATE is one
/// that says so, whatever the server's last words were.
Failure failure_of(const PGconn *connection, const PGresult *result);

/// A text of libpq on one line, without what surrounds it.
std::string one_line(const char *text);

} // namespace idem::client
