#include "warning.h"

#include <cstdio>
#include <limits>
#include <string>
#include <utility>

namespace idem::cache {

Warning::Warning(std::function<void(std::string_view)> function)
    : function_(std::move(function)), silent_until_(std::numeric_limits<Clock::rep>::min())
{
}

void Warning::say(std::string_view where, std::string_view what, Clock::time_point now) noexcept
{
    constexpr std::chrono::minutes kInterval{1};
    const auto moment = now.time_since_epoch().count();
    auto until = silent_until_.load();
    if (moment < until || !silent_until_.compare_exchange_strong(until, (now + kInterval).time_since_epoch().count())) {
        return;
    }
    try {
        std::string text("the result cache is not used: redis at ");
        text.append(where).append(": ").append(what);
        if (function_) {
            function_(text);
        } else {
            (void)std::fprintf(stderr, "idem: %s\n", text.c_str());
        }
    } catch (...) { // a warning that cannot be given must not stop the call that it is about
    }
}

} // namespace idem::cache
