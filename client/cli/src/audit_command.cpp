#include "command.hpp"
#include "database.hpp"
#include "exit_code.hpp"
#include "json_text.hpp"

#include <algorithm>
#include <array>
#include <iomanip>
#include <iostream>
#include <map>
#include <memory>

namespace idem::cli {
namespace {

constexpr std::array<const char *, 5> kColumns{"severity", "code", "object", "finding", "hint"};

struct Options {
    std::string table;
    std::string fail_on = "notice";
    bool json = false;
};

client::Rows findings(const Options &options, const Connection &connection)
{
    Database database(connection);
    const std::string select =
        "SELECT severity, code, object, finding, hint FROM " + database.quoted_schema(connection.schema);
    if (options.table.empty()) {
        return database.query(select + ".idem_audit()");
    }
    return database.query(select + ".idem_audit_table($1::pg_catalog.regclass)", {options.table});
}

void print_json(const client::Rows &rows)
{
    for (int row = 0; row < rows.size(); ++row) {
        JsonObject object;
        for (std::size_t i = 0; i < kColumns.size(); ++i) {
            const std::optional<std::string_view> value = rows.at(row, static_cast<int>(i));
            object.text_or_null(kColumns[i], value ? std::optional<std::string>(*value) : std::nullopt);
        }
        std::cout << (row > 0 ? ",\n " : "[") << object.str();
    }
    std::cout << (rows.size() > 0 ? "]\n" : "[]\n");
}

std::string shown(const client::Rows &rows, int row, int column)
{
    return printable(rows.at(row, column).value_or(""));
}

// What is found and what helps are sentences and statements, too long for a column: they stand below.
void print_table(const client::Rows &rows)
{
    std::map<std::string, int> counts;
    std::size_t width = 0;
    for (int row = 0; row < rows.size(); ++row) {
        width = std::max(width, shown(rows, row, 1).size());
        ++counts[shown(rows, row, 0)];
    }
    std::cout << std::left;
    for (int row = 0; row < rows.size(); ++row) {
        std::cout << std::setw(9) << shown(rows, row, 0) << std::setw(static_cast<int>(width) + 2)
                  << shown(rows, row, 1) << shown(rows, row, 2) << "\n    " << shown(rows, row, 3) << '\n';
        if (const std::string hint = shown(rows, row, 4); !hint.empty()) {
            std::cout << "    -> " << hint << '\n';
        }
    }
    if (rows.size() == 0) {
        std::cout << "no findings\n";
        return;
    }
    std::cout << '\n'
              << counts["error"] << " errors, " << counts["warning"] << " warnings, " << counts["notice"]
              << " notices\n";
}

// Whether a finding is as bad as the option says, or worse.
bool fails(const client::Rows &rows, const std::string &fail_on)
{
    const std::map<std::string_view, int> rank{{"notice", 0}, {"warning", 1}, {"error", 2}};
    for (int row = 0; row < rows.size(); ++row) {
        const auto found = rank.find(rows.at(row, 0).value_or("error"));
        if (found == rank.end() || found->second >= rank.at(fail_on)) {
            return true;
        }
    }
    return false;
}

void run(const Options &options, const Connection &connection)
{
    const client::Rows rows = findings(options, connection);
    options.json ? print_json(rows) : print_table(rows);
    end_with(fails(rows, options.fail_on) ? kFound : kDone);
}

} // namespace

void add_audit(CLI::App &app, const Connection &connection)
{
    auto options = std::make_shared<Options>();
    CLI::App *command = app.add_subcommand("audit", "Look for what endangers the promise: settings, keys, rows, roles");
    command->add_option("--table", options->table, "Look at this table only, attached or not");
    command->add_option("--fail-on", options->fail_on, "The least severity that makes the exit code 1")
        ->check(CLI::IsMember({"notice", "warning", "error"}))
        ->capture_default_str();
    command->add_flag("--json", options->json, "Print the findings as a JSON array");
    command->footer("Examples:\n"
                    "  idem audit\n"
                    "  idem audit --table payments.invoices --json\n\n"
                    "It reads only, on a standby too. The role needs EXECUTE on idem_audit or idem_audit_table.\n\n"
                    "Exit codes: 0 no findings, 1 findings, 2 usage, 3 no connection, 6 --timeout ended it,\n"
                    "8 another error.");
    command->callback([options, &connection] { run(*options, connection); });
}

} // namespace idem::cli
