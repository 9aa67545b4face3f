#pragma once

#include <libpq-fe.h>

#include <memory>

namespace idem::client {

struct Release {
    void operator()(PGconn *connection) const { PQfinish(connection); }
    void operator()(PGresult *result) const { PQclear(result); }
    void operator()(PGcancel *cancel) const { PQfreeCancel(cancel); }
};

using ConnectionPtr = std::unique_ptr<PGconn, Release>;
using ResultPtr = std::unique_ptr<PGresult, Release>;
using CancelPtr = std::unique_ptr<PGcancel, Release>;

} // namespace idem::client
