#include "proxy.hpp"

#include "clock.hpp"
#include "control.hpp"
#include "output.hpp"
#include "relay.hpp"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <string>
#include <system_error>
#include <vector>

namespace idem::proxy {

namespace {

// Sets up the process for what it does from now on.
void prepare_process(bool ends_with_parent)
{
    if (ends_with_parent) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
    }
    // Otherwise the kernel may add 50 microseconds to each wait.
    prctl(PR_SET_TIMERSLACK, 1UL);
    // Somebody who reads no reports must not end the proxy.
    if (std::signal(SIGPIPE, SIG_IGN) == SIG_ERR) {
        throw std::system_error(errno, std::generic_category(), "signal");
    }
    // A connection takes two files.
    rlimit files{};
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
}

// Waits until a file has something, or until then.
void wait_for(std::vector<pollfd> &polled, Clock::time_point then)
{
    timespec timeout{};
    if (then != Clock::time_point::max()) {
        const auto left = std::max(then - Clock::now(), Clock::duration::zero());
        const auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(left).count();
        timeout = {nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000};
    }
    if (ppoll(polled.data(), polled.size(), then == Clock::time_point::max() ? nullptr : &timeout, nullptr) < 0) {
        if (errno != EINTR) {
            throw std::system_error(errno, std::generic_category(), "ppoll");
        }
        // What the call left in there means nothing.
        for (pollfd &entry : polled) {
            entry.revents = 0;
        }
    }
}

} // namespace

void run(const Options &options)
{
    prepare_process(options.control < 0);
    Output output(options.output);
    Relay relay(options, output);
    Control control(options.control, relay, output);
    output.line(std::to_string(relay.port()));
    std::vector<pollfd> polled;
    for (;;) {
        polled.assign({control.want(), output.want()});
        relay.want(polled);
        wait_for(polled, relay.next());
        relay.serve(polled.data() + 2, Clock::now());
        if (polled[0].revents != 0 && !control.read()) {
            output.finish();
            return;
        }
        if (polled[1].revents != 0) {
            output.write();
        }
    }
}

} // namespace idem::proxy
