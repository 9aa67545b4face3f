#pragma once

#include "board.hpp"
#include "history.hpp"
#include "plan.hpp"
#include "script.hpp"

#include <idem/client.hpp>

#include <set>

namespace idem::verify {

/// What a lane has to know of the runs before its process was killed.
struct LanePast {
    std::uint64_t next = 0;            ///< The first number that it has not used.
    std::set<std::uint64_t> open = {}; ///< Calls that were sent and have no answer.
    std::set<Scope> acknowledged = {}; ///< Scopes whose row it was given.
};

/// What a lane works with; shared by the lanes of a process.
struct Stage {
    const Plan &plan;
    const Script &script;
    Board &board;
    HistoryWriter &history;
    client::Client &client;
    int process;
    int run;
};

/// One thread that makes its calls one after the other.
class Lane {
public:
    Lane(Stage &stage, int lane, LanePast past);

    /// Plays until the board says to settle, then asks again for what has no answer. Gives up after a minute; the
    /// history then shows what is open.
    void run();

    /// Writes a failed attempt into the history of the call that the calling thread is making.
    static void note_attempt(HistoryWriter &history, const client::Attempt &attempt);

private:
    [[nodiscard]] std::uint64_t choose_number();
    void make_call(std::uint64_t number);
    std::vector<Answer> ask(const Step &step, std::uint64_t number);
    Answer ask_once(const Step &step, std::uint64_t number);
    void post(client::Transaction &transaction, const Posed &request, const client::Result &result,
              std::uint64_t number);

    Stage &stage_;
    int lane_;
    LanePast past_;
};

} // namespace idem::verify
