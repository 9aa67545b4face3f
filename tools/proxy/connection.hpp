// A client, its connection to the server, and what happens to both.

#pragma once

#include "clock.hpp"
#include "dialogue.hpp"
#include "lane.hpp"
#include "output.hpp"
#include "plan.hpp"
#include "socket.hpp"

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace idem::proxy {

// What holds for all connections.
struct Network {
    Clock::duration one_way{};       // how long octets take to the other side
    Clock::duration linger{};        // how long the server's side stays after a client that left silence
    Clock::duration longest_delay{}; // of the delays by chance
    bool paused = false;             // nothing moves, nothing is lost
    bool held = false;               // everything is swallowed
};

class Connection {
public:
    // A server's socket of -1 stands for a server that could not be reached; in silence nobody tries.
    Connection(std::uint64_t number, Socket client, Socket server, const Network &network, Plan &plan, Output &output);

    // Adds its two sockets to what is waited for.
    void want(std::vector<pollfd> &polled) const;

    // Moves what can be moved now.
    void serve(const pollfd &client, const pollfd &server, Clock::time_point now);

    // Reports that it is cut from outside.
    void report_cut();

    [[nodiscard]] bool closed(Clock::time_point now) const;
    [[nodiscard]] Clock::time_point next() const;

private:
    // A fault that waits for the server's answer.
    struct Pending {
        Decision decision;
        Passage passage;
        std::string answer; // as much of it as may be needed
        std::string result; // the command tag or the SQLSTATE in it
    };

    void read_client(Clock::time_point now);
    void read_server(Clock::time_point now);
    void take_from_client(std::string_view octets, Clock::time_point now);
    void take_from_server(std::string_view octets, Clock::time_point now);
    void client_left(Clock::time_point now);
    void server_left(Clock::time_point now);
    bool beyond_pending(const Message &message) const;
    void strike(const Decision &decision, const Passage &passage, Clock::time_point now);
    void answer_begins(const Message &message);
    void finish_pending(Clock::time_point now);
    void fall_silent(Clock::time_point now);
    void be_held(Clock::time_point now);
    void stop(Clock::time_point due);
    void report(const Decision &decision, Point point, std::string_view answer = {});

    std::uint64_t number_;
    const Network &network_;
    Plan &plan_;
    Output &output_;
    Socket client_;
    Socket server_;
    Dialogue dialogue_;
    Lane there_;
    Lane back_;
    std::optional<Pending> pending_;
    Clock::duration late_{};    // how much later the message that is on its way is due
    bool client_skips_ = false; // the client's current message goes nowhere
    bool server_skips_ = false; // nor does the server's
    bool client_ended_ = false;
    bool server_ended_ = false;
    bool stopped_ = false; // nothing is read any more; what is on its way is still delivered
    bool silent_ = false;  // what is read goes nowhere
    Clock::time_point left_ = Clock::time_point::max(); // when the client left the silence
};

} // namespace idem::proxy
