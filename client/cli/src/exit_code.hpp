#pragma once

#include <idem/error.hpp>

#include <ostream>

namespace idem::cli {

/// What the command exits with; docs/command-line.md and the manual page list them.
enum ExitCode : int {
    kDone = 0,
    kFound = 1,      ///< Refused records, findings, or no such transaction.
    kUsage = 2,      ///< The command line.
    kConnection = 3, ///< No server that can serve; nothing was done, or nothing more.
    kInDoubt = 4,    ///< The transaction may or may not have taken effect.
    kConflict = 5,   ///< ID001, ID003.
    kBusy = 6,       ///< ID002, a wait that ended, a serialization failure.
    kInvalid = 7,    ///< The request breaks a rule.
    kFailed = 8,     ///< Any other error of the server.
    kFile = 9,       ///< A file cannot be read or written.
    kSignal = 128    ///< Plus the signal's number.
};

/// The code for an error of the library or the server.
[[nodiscard]] ExitCode exit_code(const client::Error &error) noexcept;

/// Prints `idem: message (SQLSTATE)`, and the detail and the hint on lines of their own.
void print_error(std::ostream &out, const client::Error &error);

} // namespace idem::cli
