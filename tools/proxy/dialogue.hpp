// Follows what the two sides of a connection say, as far as transactions are concerned.

#pragma once

#include "fault.hpp"
#include "framer.hpp"
#include "statement.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace idem::proxy {

// A place in what the server says: the answers to so many groups are before it (a group ends with ReadyForQuery), and
// the results of so many statements of the group that it is in.
struct Position {
    std::uint64_t groups = 0;
    std::uint64_t results = 0;

    [[nodiscard]] bool reaches(const Position &other) const
    {
        return groups != other.groups ? groups > other.groups : results >= other.results;
    }
};

// A point that a message is at, and where the answer to it begins.
struct Passage {
    Point point;
    Position answer;
};

class Dialogue {
public:
    // Both sides of what is said.
    Framer &client() { return client_; }
    Framer &server() { return server_; }

    // Takes note of a message of the client that is on its way, and tells which point it is at, if at any.
    std::optional<Passage> sent(const Message &message);

    // Takes note of a message of the server.
    void answered(const Message &message);

    // How many groups the client has completed.
    [[nodiscard]] std::uint64_t groups_sent() const { return groups_sent_; }

    // Where the server's next message stands.
    [[nodiscard]] const Position &position() const { return position_; }

private:
    std::optional<Point> open(const Message &message);
    std::optional<Point> query(std::string_view text);
    std::optional<Point> execute(std::string_view portal);
    std::optional<Point> sync();
    void take_encryption_answer(char answer);

    Framer client_{Framer::Phase::opening};
    Framer server_{Framer::Phase::messages};
    bool opened_ = false;               // the client has sent what opens a session
    bool asked_for_encryption_ = false; // and the server has not answered yet
    bool ready_ = false;                // the server has said so for the first time

    std::map<std::string, std::vector<Deed>, std::less<>> statements_;
    std::map<std::string, std::vector<Deed>, std::less<>> portals_;

    // A client may send on before it has an answer; so what the server said last counts only until then.
    bool in_block_ = false;
    bool implicit_ = false;      // work was done outside of a block, which Sync commits
    std::uint64_t executed_ = 0; // statements since the last group
    std::uint64_t groups_sent_ = 0;
    Position position_;
};

} // namespace idem::proxy
