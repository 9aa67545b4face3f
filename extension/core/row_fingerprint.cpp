#include "row_fingerprint.h"

namespace idem::core {

Exclusions stored_exclusions(std::string_view stored)
{
    constexpr size_t kHead = 1 + std::tuple_size_v<Sha256>;
    if (stored.size() < kHead) {
        throw Error(sqlstate::kNotInState, "the stored fingerprint is not one of idem's",
                    "It has " + std::to_string(stored.size()) + " octets; " + std::to_string(kHead) + " are the least.",
                    "Keep fingerprints of other origin in another column.");
    }
    if (stored[0] != static_cast<char>(kHashVersion)) {
        refuse_hash_version(static_cast<unsigned char>(stored[0]));
    }
    return Exclusions::from_text(stored.substr(kHead));
}

} // namespace idem::core
