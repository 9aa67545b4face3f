#include "interrupt.hpp"

#include <csignal>

namespace idem::cli {
namespace {

volatile std::sig_atomic_t noted = 0;

extern "C" void note_signal(int signal)
{
    noted = signal;
}

} // namespace

void watch_interrupts()
{
    struct sigaction action = {};
    action.sa_handler = note_signal;
    // Without SA_RESTART: a read that waits for input ends.
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
}

int noted_signal() noexcept
{
    return noted;
}

} // namespace idem::cli
