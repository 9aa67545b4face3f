#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace idem::cli {

/// A file that cannot be read as a file of requests, or a report that cannot be written.
class FileError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Where octets come from.
class Source {
public:
    virtual ~Source() = default;
    /// Puts some octets into the room, and says how many; 0 at the end. Throws FileError.
    virtual std::size_t read(std::span<char> room) = 0;
};

/// A file, or standard input for the name `-`.
class FileSource final : public Source {
public:
    /// Throws FileError where the file cannot be opened.
    explicit FileSource(const std::string &name);
    FileSource(const FileSource &) = delete;
    FileSource &operator=(const FileSource &) = delete;
    ~FileSource() override;

    /// Says that the file is at its end, too, after an interrupt (interrupt.hpp).
    std::size_t read(std::span<char> room) override;

    /// The file's size in octets; nothing for what is not a regular file.
    [[nodiscard]] std::optional<std::uint64_t> size() const;

private:
    std::string name_;
    int descriptor_;
};

/// A source through a buffer. A byte order mark of UTF-8 at its start is left out.
class Buffered {
public:
    explicit Buffered(Source &source) : source_(source) {}

    /// The octets that were read and not consumed. Empty only at the end. Throws FileError, also for UTF-16.
    std::string_view peek();

    /// Goes behind the first octets of what peek() gave.
    void consume(std::size_t octets) noexcept;

    /// How many octets were consumed, the byte order mark among them.
    [[nodiscard]] std::uint64_t consumed() const noexcept { return consumed_; }

private:
    void fill();
    void skip_mark();

    Source &source_;
    std::array<char, 65536> room_ = {};
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
    std::uint64_t consumed_ = 0;
    bool started_ = false;
};

/// All octets of a source. Throws FileError, also where there are more than the limit.
std::string read_all(Source &source, std::size_t limit);

} // namespace idem::cli
