// Cuts what one side of a connection sends into the messages of PostgreSQL's protocol, version 3.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace idem::proxy {

// The beginning of a message. What opens a connection has no type: it is 0.
struct Message {
    char type = 0;
    std::uint64_t length = 0; // of the whole body
    std::string_view body;    // its first octets, at least kHead of them where there are so many
};

// Octets as they came, to be passed on as they are, and the message that begins with them, if one does.
struct Part {
    std::string_view octets;
    std::optional<Message> message;
};

// Gives back every octet it is fed, in order, and holds only the beginning of one message.
class Framer {
public:
    // What comes next: what opens a connection; messages; the one octet that answers a request for encryption;
    // anything.
    enum class Phase { opening, messages, encryption_answer, opaque };

    // So much of a message is held until it is complete, because it may decide what becomes of the message.
    static constexpr std::size_t kHead = 8192;

    explicit Framer(Phase phase) : phase_(phase) {}

    // Says what the octets after the last part are.
    void expect(Phase phase) { phase_ = phase; }

    // Takes octets. Parts that were given out before are no longer valid.
    void feed(std::string_view octets);

    // Gives the next part, or nothing where more octets must come first. Octets that are no messages make it opaque.
    std::optional<Part> next();

    // Gives what is held of a message that is not going to be completed.
    std::string_view held();

private:
    Part take(std::size_t count);

    Phase phase_;
    std::string buffer_;
    std::size_t taken_ = 0;  // octets of the buffer that were given out
    std::uint64_t rest_ = 0; // octets that are still to come of the message whose beginning was given out
};

} // namespace idem::proxy
