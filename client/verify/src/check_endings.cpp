#include "endings.hpp"
#include "evidence.hpp"

#include <map>
#include <tuple>

namespace idem::verify {

namespace {

// A call through all the times that it was made.
using CallName = std::tuple<std::string, int, std::uint64_t>;

// A call as text for a reader.
std::string describe(const Call &call)
{
    return "call " + std::to_string(call.number) + " of lane " + std::to_string(call.lane) + " of process " +
           call.process;
}

} // namespace

void check_endings(const History &history, Violations &violations)
{
    std::map<CallName, const Call *> last;
    for (const Call &call : history.calls) {
        last[{call.process, call.lane, call.number}] = &call;
        if (call.ending && !call.ending->sqlstate.empty() && !is_explained(call.ending->sqlstate)) {
            violations.push_back({Property::errors_explained,
                                  describe(call) + " ended with " + call.ending->sqlstate,
                                  {call.source, call.ending->source}});
        }
        for (std::size_t place = 0; call.ending && place < call.ending->answers.size(); place++) {
            if (call.ending->answers[place].outcome == Outcome::invalid) {
                violations.push_back({Property::errors_explained,
                                      describe(call) + " was told that a request is invalid",
                                      {call.source, call.ending->source}});
            }
        }
    }
    for (const auto &[name, call] : last) {
        if (!call->ending || !is_final(*call->ending)) {
            violations.push_back({Property::all_answered,
                                  describe(*call) + " was given up without an answer",
                                  {call->ending ? call->ending->source : call->source}});
        }
    }
}

} // namespace idem::verify
