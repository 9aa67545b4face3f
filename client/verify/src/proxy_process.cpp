#include "proxy_process.hpp"

#include "proxy/proxy.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <system_error>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace idem::verify {

namespace {

// A pipe that other programs do not inherit.
std::array<int, 2> make_pipe()
{
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) {
        throw std::system_error(errno, std::generic_category(), "could not make a pipe");
    }
    return ends;
}

// What the forked process does. The proxy ends when the control lines end, which they do with the parent.
[[noreturn]] void serve(const std::pair<std::string, std::string> &server, int control, int output)
{
    setpgid(0, 0);
    int status = EXIT_SUCCESS;
    try {
        proxy::Options options;
        options.host = server.first;
        options.port = server.second;
        options.control = control;
        options.output = output;
        proxy::run(options);
    } catch (const std::exception &) {
        status = EXIT_FAILURE;
    }
    _exit(status);
}

} // namespace

ProxyProcess::ProxyProcess(const std::pair<std::string, std::string> &server)
{
    const std::array<int, 2> control = make_pipe();
    const std::array<int, 2> output = make_pipe();
    pid_ = fork();
    if (pid_ == 0) {
        close(control[1]);
        close(output[0]);
        serve(server, control[0], output[1]);
    }
    close(control[0]);
    close(output[1]);
    control_ = control[1];
    output_ = output[0];
    char letter = 0;
    while (read(output_, &letter, 1) == 1 && letter != '\n') {
        port_ += letter;
    }
    if (pid_ < 0 || port_.empty()) {
        throw std::runtime_error("could not start the proxy");
    }
    fcntl(output_, F_SETFL, O_NONBLOCK);
}

ProxyProcess::~ProxyProcess()
{
    close(control_);
    close(output_);
    if (pid_ > 0) {
        waitpid(pid_, nullptr, 0);
    }
}

void ProxyProcess::tell(const std::string &line) const
{
    const std::string text = line + "\n";
    if (write(control_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
        throw std::system_error(errno, std::generic_category(), "could not reach the proxy");
    }
}

// Lines are answers to what it was told, or faults as objects of JSON.
void ProxyProcess::count(FaultCounts &counts)
{
    std::array<char, 4096> buffer{};
    ssize_t length = 0;
    while ((length = read(output_, buffer.data(), buffer.size())) > 0) {
        unfinished_.append(buffer.data(), static_cast<std::size_t>(length));
    }
    for (std::size_t end = 0; (end = unfinished_.find('\n')) != std::string::npos; unfinished_.erase(0, end + 1)) {
        const std::string line = unfinished_.substr(0, end);
        if (line.starts_with("error: ")) {
            throw std::runtime_error("the proxy refused a fault: " + line);
        }
        if (line.starts_with('{')) {
            counts[nlohmann::json::parse(line).at("fault")]++;
        }
    }
}

} // namespace idem::verify
