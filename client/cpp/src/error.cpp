#include "raise.h"

#include <utility>

namespace idem::client {

Error::Error(std::string sqlstate, const std::string &message, std::string detail, std::string hint, int attempts)
    : std::runtime_error(message), sqlstate_(std::move(sqlstate)), detail_(std::move(detail)), hint_(std::move(hint)),
      attempts_(attempts)
{
}

RetriesExhausted::RetriesExhausted(const Error &last, int attempts, bool in_doubt)
    : Error(last.sqlstate(), last.message(), last.detail(), last.hint(), attempts), in_doubt_(in_doubt)
{
}

// Here, so that all users of the library share one type information: exceptions are caught by it.
Error::~Error() = default;
ConflictError::~ConflictError() = default;
InProgressError::~InProgressError() = default;
InDoubtError::~InDoubtError() = default;
RetriesExhausted::~RetriesExhausted() = default;

void raise(const Failure &failure, int attempts)
{
    const auto &[sqlstate, message, detail, hint] = failure;
    if (sqlstate == "ID001" || sqlstate == "ID003") {
        throw ConflictError(sqlstate, message, detail, hint, attempts);
    }
    if (sqlstate == "ID002") {
        throw InProgressError(sqlstate, message, detail, hint, attempts);
    }
    if (sqlstate == "ID006") {
        throw InDoubtError(sqlstate, message, detail, hint, attempts);
    }
    throw Error(sqlstate, message, detail, hint, attempts);
}

void raise_again(const Error &error, int attempts)
{
    raise({error.sqlstate(), error.message(), error.detail(), error.hint()}, attempts);
}

void raise_in_doubt(const Error &last, int attempts)
{
    const std::string detail = last.detail().empty() ? "" : " " + last.detail();
    raise({"ID006", "the transaction may or may not have been committed",
           "The last error was: " + last.message() + " (" + last.sqlstate() + ")." + detail,
           "Look for what it wrote before you repeat it."},
          attempts);
}

} // namespace idem::client
