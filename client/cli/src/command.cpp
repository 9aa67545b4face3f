#include "command.hpp"

namespace idem::cli {

client::ClientOptions Connection::client_options(std::chrono::milliseconds timeout_otherwise) const
{
    client::ClientOptions options;
    options.conninfo = dsn;
    options.schema = schema;
    options.pool_size = 1;
    options.retry.deadline = timeout > 0 ? limit() : timeout_otherwise;
    // The deadline alone ends the attempts: the pauses between them keep their number low.
    options.retry.attempts = 1000;
    return options;
}

} // namespace idem::cli
