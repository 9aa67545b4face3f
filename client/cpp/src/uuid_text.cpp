#include "uuid_text.h"

namespace idem::client {

std::string uuid_text(const unsigned char *octets)
{
    constexpr char kDigits[] = "0123456789abcdef";
    std::string text;
    text.reserve(36);
    for (int i = 0; i < 16; ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) {
            text += '-';
        }
        text += kDigits[octets[i] >> 4U];
        text += kDigits[octets[i] & 0xFU];
    }
    return text;
}

} // namespace idem::client
