#include "fitting.h"

namespace idem::client {
namespace {

// The version up to its n-th dot.
std::string_view up_to_dot(std::string_view version, int dots)
{
    std::size_t at = 0;
    for (; at < version.size(); ++at) {
        if (version[at] == '.' && --dots == 0) {
            break;
        }
    }
    return version.substr(0, at);
}

} // namespace

bool versions_fit(std::string_view client, std::string_view extension)
{
    const int parts = up_to_dot(client, 1) == "0" ? 2 : 1;
    return up_to_dot(client, parts) == up_to_dot(extension, parts);
}

} // namespace idem::client
