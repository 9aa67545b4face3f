#pragma once

#include "deadline.h"

#include <libpq-fe.h>

namespace idem::client {

/// Asks the server to cancel what the connection does. Waits until the deadline at most, and tells whether the server
/// has got it by then. Too many that hang, or a lack of memory or threads, count as not.
bool cancel(PGconn *connection, Deadline deadline);

} // namespace idem::client
