#include "proxy/proxy.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <exception>
#include <string>

namespace idem::proxy {

namespace {

struct Pipe {
    Pipe() { EXPECT_EQ(pipe(ends.data()), 0); }
    std::array<int, 2> ends{};
};

// Reads a line, one octet after the other.
std::string read_line(int fd)
{
    std::string line;
    for (char octet = 0; read(fd, &octet, 1) == 1 && octet != '\n';) {
        line += octet;
    }
    return line;
}

} // namespace

TEST(Run, ServesInAForkedChild)
{
    const Pipe control;
    const Pipe output;
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        close(control.ends[1]);
        close(output.ends[0]);
        Options options;
        options.host = "127.0.0.1";
        options.port = "1";
        options.control = control.ends[0];
        options.output = output.ends[1];
        try {
            run(options);
        } catch (const std::exception &) {
            _exit(1);
        }
        _exit(0);
    }
    close(control.ends[0]);
    close(output.ends[1]);
    EXPECT_GT(std::stoi(read_line(output.ends[0])), 0);
    const std::string line = "next delay 5\n";
    EXPECT_EQ(write(control.ends[1], line.data(), line.size()), static_cast<ssize_t>(line.size()));
    EXPECT_EQ(read_line(output.ends[0]), "ok");
    close(control.ends[1]);
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    close(output.ends[0]);
}

} // namespace idem::proxy
