// Passes connections on to a PostgreSQL server, late as a network of some round trip would, and does to them what
// networks do at the worst moment: when a COMMIT is on its way.
//
//   fault_proxy HOST PORT [--round-trip-us N] [--seed N --fault-rate P [--faults NAME,...] [--delay-ms N]]
//               [--linger-ms N] [--control]
//
// It listens on a free port of 127.0.0.1, whose number is the first line that it prints. It ends with the process that
// started it, or with --control at the end of its standard input. HOST may be the folder of a Unix-domain socket.
//
// --round-trip-us  half of it is how much later every octet arrives. It delays and does not limit: octets that are due
//                  go out at once.
// --fault-rate     faults strike by chance at this share of the points, 0 to 1. The n-th commit, the n-th other
//                  statement and the n-th connection meet the same fault in every run with the same --seed,
//                  --fault-rate and --faults.
// --faults         those that may strike by chance, all of them by default. A name that is there twice is twice as
//                  likely.
// --delay-ms       the longest delay by chance, 200 by default
// --linger-ms      how long the server's side of a silent connection stays when the client has left it, 0 by default
// --control        takes control lines from the standard input
//
// Points are the messages by which a client does this:
//   connect      opens a session           begin        begins a transaction       commit       sends COMMIT or END
//   cancel       asks to cancel a call     statement    does anything else         autocommit   commits without COMMIT,
//                                          rollback     rolls back                              outside of a block
// Outside of a block, a statement of the extended protocol is a statement where it is executed, and an autocommit where
// Sync ends it; one of the simple protocol is an autocommit. SET, SHOW and the like are always statements. Points are
// seen in plain connections only; those that the server encrypts are delayed, held and cut as all are.
//
// Faults, and the points at which they strike unless told otherwise:
//   cut_before_commit    commit, autocommit   both sides are closed, and the commit does not arrive
//   cut_after_commit     commit, autocommit   once the server has answered, both sides are closed without the answer
//   reset_after_commit   commit, autocommit   the same, and the client's side is reset
//   swallow_answer       commit, autocommit   the server answers, and the connection is silent from then on
//   cut_in_answer        commit, autocommit   part of the answer arrives, so many octets as were said, then both close
//   cut_statement        begin, statement, rollback   both sides are closed, and the statement does not arrive
//   half_open            all but connect, cancel      the statement does not arrive, and the connection is silent
//   cut_connect          connect              both sides are closed in the middle of the opening
//   delay                all                  the message, and what follows it, comes so many milliseconds later
// A silent connection stays open, takes everything and passes nothing on, until the client closes it.
//
// Control lines, each of which is answered by a line "ok" or "error: ...":
//   next FAULT [POINT] [AMOUNT]   strike once, at the next point that fits; several are served one after the other
//   set FAULT [POINT] [AMOUNT]    strike at every such point, until there is another one or
//   clear                         forget both
//   rate P                        change --fault-rate
//   target HOST PORT              lead new connections there
//   cut                           close all connections now
//   refuse on|off                 refuse new connections
//   hold on|off                   lose everything that is sent, and take new connections in silence. Connections that
//                                 have lost something stay silent
//   pause on|off                  move nothing, in no direction, and lose nothing: it arrives late
//
// Every fault that has happened is a line, too:
//   {"time": 1700000000.000001, "connection": 3, "fault": "cut_after_commit", "point": "commit", "number": 12,
//    "answer": "COMMIT"}
// The number counts points of this kind, with commit and autocommit as one kind, begin, statement and rollback as
// another; the answer is the command tag or the SQLSTATE that did not arrive. What control lines do has the point
// "control" and the number 0.

#include "proxy.hpp"

#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

int main(int argc, char **argv)
{
    try {
        idem::proxy::run(idem::proxy::parse_options(std::vector<std::string>(argv + 1, argv + argc)));
    } catch (const std::invalid_argument &error) {
        std::cerr << "fault_proxy: " << error.what() << '\n' << idem::proxy::kUsage;
        return 2;
    } catch (const std::exception &error) {
        std::cerr << "fault_proxy: " << error.what() << '\n';
        return 1;
    }
}
