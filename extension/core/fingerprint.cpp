#include "fingerprint.h"

namespace idem::core {

void refuse_hash_version(int version)
{
    throw Error(sqlstate::kNotInState, "the stored fingerprint has the unknown version " + std::to_string(version), {},
                "The row was written by another version of idem; install that or a newer one.");
}

} // namespace idem::core
