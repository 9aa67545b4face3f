#pragma once

#include <csignal>
#include <thread>
#include <utility>

namespace idem::client {

/// Keeps all signals from this thread, and from those that it starts, while it lives.
class SignalsBlocked {
public:
    SignalsBlocked()
    {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    SignalsBlocked(const SignalsBlocked &) = delete;
    SignalsBlocked &operator=(const SignalsBlocked &) = delete;
    ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

private:
    sigset_t before_{};
};

/// Runs `work`, which knows no deadline, on a thread of its own that nobody waits for. It must not throw, and may
/// outlive everything that it does not own. Signals of the application are none of its business, and it raises no
/// SIGPIPE. Throws std::system_error or std::bad_alloc where there is no thread for it; it does not run then.
template <typename F>
void run_apart(F work)
{
    const SignalsBlocked blocked;
    std::thread(std::move(work)).detach();
}

} // namespace idem::client
