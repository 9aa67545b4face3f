#pragma once

#include "raise.h"

#include <libpq-fe.h>

namespace idem::client {

/// What a failed result says, or, without a result, the connection. Where the connection is gone, the SQLSTATE is one
/// that says so, whatever the server's last words were.
Failure failure_of(const PGconn *connection, const PGresult *result);

/// What libpq says about a connection that it could not make. Of a connection string that it cannot read it quotes
/// pieces; these are left out, because they may be of a password.
std::string connection_error(const PGconn *connection);

/// A text of libpq on one line, without what surrounds it.
std::string one_line(const char *text);

} // namespace idem::client
