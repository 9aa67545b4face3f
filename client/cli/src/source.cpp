#include "source.hpp"

#include "interrupt.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace idem::cli {
namespace {

[[noreturn]] void fail(const std::string &what, const std::string &name, int error)
{
    throw FileError(what + " \"" + name + "\": " + std::generic_category().message(error));
}

int open_file(const std::string &name)
{
    if (name == "-") {
        return STDIN_FILENO;
    }
    const int descriptor = ::open(name.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
        fail("could not open file", name, errno);
    }
    return descriptor;
}

} // namespace

FileSource::FileSource(const std::string &name) : name_(name), descriptor_(open_file(name)) {}

FileSource::~FileSource()
{
    if (descriptor_ != STDIN_FILENO) {
        ::close(descriptor_);
    }
}

std::size_t FileSource::read(std::span<char> room)
{
    while (!interrupted()) {
        const ssize_t octets = ::read(descriptor_, room.data(), room.size());
        if (octets >= 0) {
            return static_cast<std::size_t>(octets);
        }
        if (errno != EINTR) {
            fail("could not read file", name_, errno);
        }
    }
    return 0;
}

std::optional<std::uint64_t> FileSource::size() const
{
    struct stat status = {};
    if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
        return std::nullopt;
    }
    return static_cast<std::uint64_t>(status.st_size);
}

std::string_view Buffered::peek()
{
    if (!started_) {
        started_ = true;
        skip_mark();
    }
    if (begin_ == end_) {
        begin_ = end_ = 0;
        fill();
    }
    return {room_.data() + begin_, end_ - begin_};
}

void Buffered::consume(std::size_t octets) noexcept
{
    begin_ += octets;
    consumed_ += octets;
}

void Buffered::fill()
{
    end_ += source_.read(std::span<char>(room_).subspan(end_));
}

// A pipe may give the mark octet by octet.
void Buffered::skip_mark()
{
    constexpr std::string_view kMark = "\xEF\xBB\xBF";
    std::size_t before = 0;
    do {
        before = end_;
        fill();
    } while (end_ < kMark.size() && end_ > before);
    const std::string_view start(room_.data(), end_);
    if (start.starts_with("\xFF\xFE") || start.starts_with("\xFE\xFF")) {
        throw FileError("the file is UTF-16: convert it to UTF-8");
    }
    if (start.starts_with(kMark)) {
        consume(kMark.size());
    }
}

std::string read_all(Source &source, std::size_t limit)
{
    std::string text;
    Buffered buffered(source);
    for (std::string_view part = buffered.peek(); !part.empty(); part = buffered.peek()) {
        if (text.size() + part.size() > limit) {
            throw FileError("the file has more than " + std::to_string(limit) + " octets");
        }
        text += part;
        buffered.consume(part.size());
    }
    return text;
}

} // namespace idem::cli
