#include "supervisor.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace idem::verify {

namespace {

using namespace std::chrono_literals;

// Runs this program as a process of the play. Between fork and exec only what is safe after a fork.
[[noreturn]] void become_process(pid_t parent, char *const arguments[])
{
    // Of its own group: an interrupt from the terminal is for the supervisor.
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(EXIT_FAILURE);
    }
    execv("/proc/self/exe", arguments);
    _exit(EXIT_FAILURE);
}

} // namespace

Supervisor::Supervisor(std::filesystem::path folder, const Plan &plan)
    : folder_(std::move(folder)), board_(Board::make(folder_)), processes_(static_cast<std::size_t>(plan.processes), 0)
{
}

Supervisor::~Supervisor()
{
    for (const pid_t pid : processes_) {
        if (pid != 0) {
            kill(pid, SIGKILL);
            waitpid(pid, nullptr, 0);
        }
    }
}

void Supervisor::start()
{
    for (std::size_t process = 0; process < processes_.size(); process++) {
        start(static_cast<int>(process));
    }
}

void Supervisor::start(int process)
{
    const std::string number = std::to_string(process);
    const std::string folder = folder_.string();
    const char *arguments[] = {"idem",         "verify",       kProcessOption, number.c_str(),
                               kHistoryOption, folder.c_str(), nullptr};
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid < 0) {
        throw std::system_error(errno, std::generic_category(), "could not start a process");
    }
    if (pid == 0) {
        become_process(parent, const_cast<char *const *>(arguments));
    }
    processes_[static_cast<std::size_t>(process)] = pid;
}

void Supervisor::watch()
{
    if (reap()) {
        throw std::runtime_error("a process of the play ended by itself");
    }
}

bool Supervisor::kill_one(std::uint64_t which)
{
    const pid_t pid = processes_[which % processes_.size()];
    return pid != 0 && kill(pid, SIGKILL) == 0;
}

void Supervisor::settle(std::chrono::seconds patience)
{
    board_->phase = Phase::settle;
    const auto end = std::chrono::steady_clock::now() + patience;
    const auto runs = [](pid_t pid) { return pid != 0; };
    while (std::any_of(processes_.begin(), processes_.end(), runs)) {
        reap();
        if (std::chrono::steady_clock::now() > end) {
            throw std::runtime_error("the processes of the play do not end");
        }
        std::this_thread::sleep_for(20ms);
    }
}

// Takes note of what has ended and starts the killed ones anew. Returns whether one has ended by itself.
bool Supervisor::reap()
{
    bool ended = false;
    for (std::size_t process = 0; process < processes_.size(); process++) {
        int status = 0;
        if (processes_[process] == 0 || waitpid(processes_[process], &status, WNOHANG) <= 0) {
            continue;
        }
        processes_[process] = 0;
        if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
            killed_++;
            start(static_cast<int>(process));
        } else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            throw std::runtime_error("process " + std::to_string(process) + " of the play failed with status " +
                                     std::to_string(status));
        } else {
            ended = true;
        }
    }
    return ended;
}

} // namespace idem::verify
