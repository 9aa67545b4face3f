#include "command.hpp"
#include "database.hpp"
#include "exit_code.hpp"
#include "show_row.hpp"

#include <array>
#include <iostream>
#include <memory>

namespace idem::cli {
namespace {

struct Options {
    std::string id;
    std::optional<std::string> tenant;
    std::optional<std::string> key;
    std::optional<std::string> order_ref;
    std::string operation = "create-transaction";
    bool json = false;
};

struct Column {
    const char *name;
    const char *expression;
    Cell::Kind kind = Cell::Kind::text;
};

constexpr std::array<Column, 11> kColumns{{
    {"transaction_id", "id::text"},
    {"tenant_id", "tenant_id"},
    {"operation", "operation"},
    {"idempotency_key", "idempotency_key"},
    {"amount_minor", "amount_minor::text", Cell::Kind::number},
    {"currency", "currency"},
    {"details", "details::text", Cell::Kind::json},
    {"order_ref", "order_ref"},
    {"created_at", "CASE WHEN pg_catalog.isfinite(created_at)"
                   " THEN pg_catalog.to_char(created_at, 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')"
                   " ELSE created_at::text END"},
    {"request_hash", "pg_catalog.encode(request_hash, 'hex')"},
    {"hash_version", "hash_version::text", Cell::Kind::number},
}};

std::string select_from(const std::string &schema)
{
    std::string statement = "SELECT ";
    for (const Column &column : kColumns) {
        statement += std::string(&column != kColumns.data() ? ", " : "") + column.expression;
    }
    return statement + " FROM " + schema + ".idem_transactions WHERE ";
}

// An id without a tenant is searched through the whole ledger, and two tenants may have it.
client::Rows find(const Options &options, const Connection &connection)
{
    Database database(connection);
    const std::string select = select_from(database.quoted_schema(connection.schema));
    if (options.key) {
        return database.query(select + "tenant_id = $1 AND operation = $2 AND idempotency_key = $3",
                              {*options.tenant, options.operation, *options.key});
    }
    if (options.order_ref) {
        return database.query(select + "tenant_id = $1 AND operation = $2 AND order_ref = $3",
                              {*options.tenant, options.operation, *options.order_ref});
    }
    if (options.tenant) {
        return database.query(select + "tenant_id = $1 AND id = $2::uuid", {*options.tenant, options.id});
    }
    return database.query(select + "id = $1::uuid ORDER BY tenant_id", {options.id});
}

std::vector<Cell> cells_of(const client::Rows &rows, int row)
{
    std::vector<Cell> cells;
    for (const Column &column : kColumns) {
        const std::optional<std::string_view> value = rows.at(row, static_cast<int>(cells.size()));
        cells.push_back({column.name, value ? std::optional<std::string>(*value) : std::nullopt, column.kind});
    }
    return cells;
}

void run(const Options &options, const Connection &connection)
{
    const int ways = (options.key ? 1 : 0) + (options.order_ref ? 1 : 0) + (options.id.empty() ? 0 : 1);
    if (ways != 1) {
        throw CLI::ValidationError("show", "give one of --key, --order-ref and an id");
    }
    if (options.id.empty() && !options.tenant) {
        throw CLI::ValidationError("show", "--key and --order-ref need --tenant");
    }
    const client::Rows rows = find(options, connection);
    for (int row = 0; row < rows.size(); ++row) {
        const std::vector<Cell> cells = cells_of(rows, row);
        std::cout << (row > 0 && !options.json ? "\n" : "");
        options.json ? print_cells_json(std::cout, cells) : print_cells(std::cout, cells);
    }
    if (rows.size() == 0) {
        std::cerr << "idem: there is no such transaction\n";
    }
    end_with(rows.size() > 0 ? kDone : kFound);
}

} // namespace

void add_show(CLI::App &app, const Connection &connection)
{
    auto options = std::make_shared<Options>();
    CLI::App *command = app.add_subcommand("show", "Show a stored transaction");
    command->add_option("id,--id", options->id, "The transaction's id; with --tenant it is found by the index");
    command->add_option("--tenant", options->tenant, "Whose transaction it is");
    command->add_option("--key", options->key, "The idempotency key that created it");
    command->add_option("--order-ref", options->order_ref, "The order_ref that it was created with");
    command->add_option("--operation", options->operation, "The operation of the key or the order_ref")
        ->capture_default_str();
    command->add_flag("--json", options->json, "Print the row as one JSON object");
    command->footer("Examples:\n"
                    "  idem show --tenant shop-7 --key cart-19\n"
                    "  idem show --tenant shop-7 --order-ref 1041 --json\n"
                    "  idem show 0190a5c4-8a3e-7c1d-9f00-3a1b2c4d5e6f\n\n"
                    "It reads the ledger, on a standby too. Values are shown as they are stored.\n\n"
                    "Exit codes: 0 found, 1 no such transaction, 2 usage, 3 no connection, 6 --timeout ended it,\n"
                    "7 not a UUID, 8 another error.");
    command->callback([options, &connection] { run(*options, connection); });
}

} // namespace idem::cli
