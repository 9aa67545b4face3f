#include "output.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdio>

namespace idem::proxy {

void Output::line(std::string_view text)
{
    if (fd_ >= 0) {
        waiting_ += text;
        waiting_ += '\n';
    }
}

void Output::fault(std::uint64_t connection, std::string_view fault, std::string_view point, std::uint64_t number,
                   std::string_view answer)
{
    using std::chrono::duration_cast;
    using std::chrono::microseconds;
    const auto now = duration_cast<microseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
    std::string fraction = std::to_string(now % 1'000'000);
    fraction.insert(0, 6 - fraction.size(), '0');
    std::string text = R"({"time": )" + std::to_string(now / 1'000'000) + '.' + fraction;
    text += R"(, "connection": )" + std::to_string(connection);
    text += R"(, "fault": ")" + std::string(fault) + R"(", "point": ")" + std::string(point);
    text += R"(", "number": )" + std::to_string(number);
    // The server chooses this text; whatever it is, the line stays JSON.
    std::string plain(answer);
    std::erase_if(plain, [](unsigned char octet) { return std::isalnum(octet) == 0 && octet != ' '; });
    line(text + R"(, "answer": ")" + plain + R"("})");
}

pollfd Output::want() const
{
    return {waiting_.empty() ? -1 : fd_, POLLOUT, 0};
}

void Output::write()
{
    // A pipe that is ready has room for so much; more could block.
    const ssize_t count = ::write(fd_, waiting_.data(), std::min<std::size_t>(waiting_.size(), PIPE_BUF));
    if (count >= 0) {
        waiting_.erase(0, static_cast<std::size_t>(count));
    } else if (errno != EINTR && errno != EAGAIN) {
        // Nobody reads any more.
        fd_ = -1;
        waiting_.clear();
    }
}

void Output::finish()
{
    for (pollfd out = want(); out.fd >= 0 && poll(&out, 1, 1000) > 0; out = want()) {
        write();
    }
}

} // namespace idem::proxy
