#pragma once

#include <idem/request.hpp>

#include <libpq-fe.h>

#include <vector>

namespace idem::client {

/// Whether an outcome comes with the stored row.
inline bool is_stored(Outcome outcome)
{
    return outcome == Outcome::created || outcome == Outcome::replayed;
}

/// Checks the answer to a COMMIT that was no ROLLBACK. Throws Error 08P01 for one that is not known.
void check_committed(const PGresult *result);

/// Reads the row of a single call. Throws Error 08P01 for one of another form.
Result decode_result(const PGresult *result);

/// Reads the rows of a call for so many requests, in their order. Throws Error 08P01 for an answer of another form.
std::vector<BatchResult> decode_batch(const PGresult *result, std::size_t count);

} // namespace idem::client
