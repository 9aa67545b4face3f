#pragma once

namespace CLI { // NOLINT(readability-identifier-naming): the name is not ours
class App;
} // namespace CLI

namespace idem::verify {

/// Adds the subcommand `verify`. It obeys the program's own options --dsn and --timeout, where there are such. Where it
/// does not end with 0 it throws CLI::RuntimeError with its status.
void add_verify(CLI::App &app);

} // namespace idem::verify
