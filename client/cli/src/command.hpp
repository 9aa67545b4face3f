#pragma once

#include <idem/client.hpp>

#include <CLI/CLI.hpp>

#include <chrono>
#include <string>

namespace idem::cli {

/// The options that stand before or behind any subcommand.
struct Connection {
    std::string dsn;
    std::string schema;
    double timeout = 0; ///< Seconds; 0 where it is not given.

    /// The timeout as the library takes it.
    [[nodiscard]] std::chrono::milliseconds limit() const
    {
        return std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>(timeout));
    }
    /// The options of the library, for calls that may take so long unless --timeout is given.
    [[nodiscard]] client::ClientOptions client_options(std::chrono::milliseconds timeout_otherwise) const;
};

// Each adds its subcommand. The connection is read when the subcommand runs, and must live until then. A subcommand
// that does not exit with 0 throws CLI::RuntimeError with its status.
void add_create(CLI::App &app, const Connection &connection);
void add_show(CLI::App &app, const Connection &connection);
void add_load(CLI::App &app, const Connection &connection);
void add_audit(CLI::App &app, const Connection &connection);
void add_bench(CLI::App &app);

/// Ends a subcommand with a status.
inline void end_with(int status)
{
    if (status != 0) {
        throw CLI::RuntimeError(status);
    }
}

} // namespace idem::cli
