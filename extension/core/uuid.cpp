#include "uuid.h"

#include "errcodes.h"
#include "error.h"

#include <openssl/rand.h>

namespace idem::core {

Uuid make_uuid7(int64_t unix_microseconds)
{
    Uuid uuid;
    if (RAND_bytes(&uuid[8], 8) != 1) {
        throw Error(sqlstate::kSystemError, "could not get random bytes from OpenSSL");
    }
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

} // namespace idem::core
