#pragma once

#include <hiredis/read.h>

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

namespace idem::cache {

/// What Redis answered to one command.
struct Reply {
    enum class Kind {
        nothing, ///< The key does not exist, or the condition did not hold.
        text,
        status,
        error,
        other, ///< What none of the commands here is answered with.
    };
    Kind kind = Kind::other;
    std::string text;

    /// The first word of an error, such as WRONGTYPE: the rest may quote the command, and with it the key.
    [[nodiscard]] std::string error_code() const;
};

/// Writes a command in Redis' protocol. Its parts may hold any octet.
std::string write_command(std::initializer_list<std::string_view> parts);

/// Reads one reply from the octets of a connection, with hiredis' parser. Lists are refused, and so is a reply that is
/// longer than the limit: what is written here is neither.
class ReplyReader {
public:
    explicit ReplyReader(std::size_t limit);

    /// Takes octets; tells whether the reply is complete. Throws Failure for what is not exactly one fitting reply.
    bool feed(std::string_view octets);

    /// Hands out the reply that is complete.
    [[nodiscard]] Reply take() noexcept { return std::move(reply_); }

private:
    std::size_t left_;
    Reply reply_;
    std::unique_ptr<redisReader, void (*)(redisReader *)> reader_;
};

} // namespace idem::cache
