#include "other_libraries.h"

#include <string_view>

#include "pg.h"
#include "version.h"

namespace idem::pg {
namespace {

// Whether a library has defined settings of Citus. A setting of that name which a session merely set is a placeholder.
bool has_citus_settings()
{
    constexpr std::string_view kPrefix = "citus.";
    const Settings settings = known_settings();
    for (int i = 0; i < settings.count; ++i) {
        const config_generic *setting = settings.all[i];
        if ((setting->flags & GUC_CUSTOM_PLACEHOLDER) == 0 && std::string_view(setting->name).starts_with(kPrefix)) {
            return true;
        }
    }
    return false;
}

// Citus spreads tables over other servers: a row that is written past it is lost to it. Libraries are loaded at any
// time and never unloaded; the room that a list of them takes tells whether there is a new one.
bool citus_is_loaded()
{
    static Size seen = 0;
    static bool loaded = false;
    const Size libraries = EstimateLibraryStateSpace();
    if (libraries != seen) {
        loaded = has_citus_settings();
        seen = libraries;
    }
    return loaded;
}

} // namespace

const char *library_in_the_way()
{
    if (ExecutorCheckPerms_hook != nullptr) {
        return "A library watches who reads and writes (ExecutorCheckPerms_hook).";
    }
    if (citus_is_loaded()) {
        return "The library citus is loaded.";
    }
    return nullptr;
}

} // namespace idem::pg
