#include "proxy.h"

#include "server.h"

#include <array>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

namespace idem::client::test {

Proxy::Proxy() : Proxy(environment("PGHOST"), environment("PGPORT")) {}

Proxy::Proxy(const std::string &host, const std::string &port)
{
    // Beside this program, where the build puts it, or where the variable says.
    const char *given = std::getenv("FAULT_PROXY");
    const std::string program = given != nullptr ? given : "./fault_proxy";
    std::array<int, 2> in{};
    std::array<int, 2> out{};
    if (pipe2(in.data(), O_CLOEXEC) != 0 || pipe2(out.data(), O_CLOEXEC) != 0) {
        throw std::runtime_error("could not make a pipe");
    }
    process_ = fork();
    if (process_ == 0) {
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        execl(program.c_str(), program.c_str(), host.c_str(), port.c_str(), "--control", nullptr);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    to_ = in[1];
    from_ = out[0];
    port_ = std::stoi(line());
}

Proxy::~Proxy()
{
    close(to_); // at its end the proxy ends
    close(from_);
    waitpid(process_, nullptr, 0);
}

std::string Proxy::line()
{
    std::size_t end = 0;
    while ((end = unread_.find('\n')) == std::string::npos) {
        std::array<char, 4096> buffer{};
        const ssize_t count = read(from_, buffer.data(), buffer.size());
        if (count <= 0) {
            throw std::runtime_error("the proxy has ended");
        }
        unread_.append(buffer.data(), static_cast<std::size_t>(count));
    }
    std::string line = unread_.substr(0, end);
    unread_.erase(0, end + 1);
    return line;
}

void Proxy::order(const std::string &line)
{
    const std::string sent = line + "\n";
    if (write(to_, sent.data(), sent.size()) != static_cast<ssize_t>(sent.size())) {
        throw std::runtime_error("the proxy takes no orders");
    }
    for (;;) {
        const std::string answer = this->line();
        if (answer == "ok") {
            return;
        }
        if (answer.front() != '{') {
            throw std::runtime_error("the proxy says: " + answer);
        }
        faults_ += answer + "\n";
    }
}

int Proxy::count(const std::string &fault)
{
    order("rate 0"); // what it has to report comes before the answer
    const std::string wanted = R"("fault": ")" + fault + '"';
    int count = 0;
    for (std::size_t at = faults_.find(wanted); at != std::string::npos; at = faults_.find(wanted, at + 1)) {
        ++count;
    }
    return count;
}

} // namespace idem::client::test
