#include "row_fingerprint.h"

namespace idem::core {
namespace {

[[noreturn]] void refuse_stored(const std::string &detail)
{
    throw Error(sqlstate::kNotInState, "the stored fingerprint is not one of idem's", detail,
                "Keep fingerprints of other origin in another column.");
}

} // namespace

Exclusions stored_exclusions(std::string_view stored)
{
    constexpr size_t kHead = 1 + std::tuple_size_v<Sha256>;
    if (stored.size() < kHead) {
        refuse_stored("It has " + std::to_string(stored.size()) + " octets; " + std::to_string(kHead) +
                      " are the least.");
    }
    if (stored[0] != static_cast<char>(kHashVersion)) {
        refuse_hash_version(static_cast<unsigned char>(stored[0]));
    }
    try {
        return Exclusions::from_text(stored.substr(kHead));
    } catch (const Error &) { // of exclude, which is not to blame
        refuse_stored("What follows its 33 octets is no list of exclusions.");
    }
}

} // namespace idem::core
