#include "command.hpp"
#include "exit_code.hpp"
#include "source.hpp"

#ifdef IDEM_CLI_VERIFY
#include "verify_command.hpp"
#endif

#include <cstdlib>
#include <iostream>

namespace idem::cli {
namespace {

void add_commands(CLI::App &app, const Connection &connection)
{
    add_create(app, connection);
    add_show(app, connection);
    add_load(app, connection);
    add_audit(app, connection);
    add_bench(app);
#ifdef IDEM_CLI_VERIFY
    verify::add_verify(app);
#endif
}

void add_connection_options(CLI::App &app, Connection &connection)
{
    app.add_option("--dsn", connection.dsn, "Connection string or URI of libpq; never put a password into it")
        ->type_name("CONNINFO");
    app.add_option("--schema", connection.schema, "The schema of the extension, where it is not found by itself")
        ->type_name("NAME");
    app.add_option("--timeout", connection.timeout, "The most time for a call: connecting, all attempts and the answer")
        ->check(CLI::Range(0.001, 1e6).description(""))
        ->type_name("SECONDS");
}

// Parses the command line and runs what it asks for.
int run(int argc, char **argv)
{
    Connection connection;
    CLI::App app("idem: business requests that take effect once, on PostgreSQL", "idem");
    app.set_version_flag("--version", std::string("idem ") + client::version());
    app.require_subcommand(1);
    app.fallthrough();
    app.footer("Where the database is, libpq's environment variables (PGHOST, PGDATABASE, PGSERVICE, ...), service\n"
               "file and password file say, or --dsn.\n\n"
               "`idem COMMAND --help` shows the options, an example and the exit codes of a command. Codes that all\n"
               "share: 0 done, 2 usage, 3 no connection, 4 in doubt, 5 conflict, 6 busy, 7 invalid, 8 another error,\n"
               "9 a file cannot be read or written.");
    add_connection_options(app, connection);
    add_commands(app, connection);
    try {
        app.parse(argc, argv);
    } catch (const CLI::RuntimeError &status) {
        return status.get_exit_code();
    } catch (const CLI::ParseError &error) {
        if (error.get_exit_code() == 0) {
            return app.exit(error);
        }
        std::cerr << "idem: " << error.what() << "\nhint: `idem --help` and `idem COMMAND --help` tell more.\n";
        return kUsage;
    }
    return kDone;
}

// What was printed must have arrived, on a full disk too.
int check_output(int status)
{
    if (!std::cout.flush()) {
        std::cerr << "idem: could not write to standard output\n";
        return kFile;
    }
    return status;
}

} // namespace
} // namespace idem::cli

int main(int argc, char **argv)
{
    using namespace idem;
    // The name by which an administrator sees the session, unless the user gives another.
    ::setenv("PGAPPNAME", "idem", 0);
    try {
        return cli::check_output(cli::run(argc, argv));
    } catch (const client::Error &error) {
        cli::print_error(std::cerr, error);
        return cli::exit_code(error);
    } catch (const cli::FileError &error) {
        std::cerr << "idem: " << error.what() << '\n';
        return cli::kFile;
    } catch (const std::exception &error) {
        std::cerr << "idem: " << error.what() << '\n';
        return cli::kFailed;
    }
}
