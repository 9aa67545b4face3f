#include "uuid.h"

#include "errcodes.h"
#include "error.h"

#include <openssl/rand.h>

#include <cstring>

namespace idem::core {
namespace {

// Random octets that nobody has been given yet. OpenSSL's generator costs much the same for 8 octets as for a block.
// The pool must not outlive a fork: a server process that makes ids does not fork.
class RandomPool {
public:
    UuidRandom take()
    {
        if (used_ == pool_.size()) {
            if (RAND_bytes(pool_.data(), static_cast<int>(pool_.size())) != 1) {
                throw Error(sqlstate::kSystemError, "could not get random bytes from OpenSSL");
            }
            used_ = 0;
        }
        UuidRandom random;
        std::memcpy(random.data(), &pool_[used_], random.size());
        used_ += random.size();
        return random;
    }

private:
    std::array<unsigned char, 64 * std::tuple_size_v<UuidRandom>> pool_;
    size_t used_ = pool_.size();
};

} // namespace

Uuid make_uuid7(int64_t unix_microseconds, const UuidRandom &random)
{
    Uuid uuid;
    std::memcpy(&uuid[8], random.data(), random.size());
    const int64_t milliseconds = unix_microseconds / 1000;
    const int64_t fraction = unix_microseconds % 1000 * 4096 / 1000;
    for (size_t i = 0; i < 6; ++i) {
        uuid[i] = static_cast<unsigned char>(milliseconds >> (40 - 8 * i));
    }
    uuid[6] = static_cast<unsigned char>(0x70 | (fraction >> 8));
    uuid[7] = static_cast<unsigned char>(fraction);
    uuid[8] = static_cast<unsigned char>(0x80 | (uuid[8] & 0x3F));
    return uuid;
}

Uuid make_uuid7(int64_t unix_microseconds)
{
    static RandomPool random;
    return make_uuid7(unix_microseconds, random.take());
}

} // namespace idem::core
