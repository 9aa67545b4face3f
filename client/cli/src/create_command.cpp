#include "command.hpp"
#include "exit_code.hpp"
#include "record.hpp"
#include "show_row.hpp"
#include "source.hpp"

#include <iostream>
#include <memory>

namespace idem::cli {
namespace {

constexpr std::chrono::seconds kTimeout{5};
// No jsonb is larger.
constexpr std::size_t kLargestDetails = std::size_t{256} << 20;

struct Options {
    std::string tenant;
    std::optional<std::string> key;
    bool new_key = false;
    std::string amount;
    std::string currency;
    std::optional<std::string> details;
    std::optional<std::string> operation;
    std::optional<std::string> order_ref;
    bool attempt = false;
    bool json = false;
};

// The text of details, read from a file where the option says so.
std::optional<std::string> details_text(const std::optional<std::string> &option)
{
    if (!option || (*option != "-" && !option->starts_with('@'))) {
        return option;
    }
    FileSource file(*option == "-" ? "-" : option->substr(1));
    return read_all(file, kLargestDetails);
}

client::Request request_of(const Options &options, const std::string &key)
{
    if (!parse_amount(options.amount)) {
        throw CLI::ValidationError("--amount", "must be a whole number in the currency's minor unit");
    }
    RequestOrRefusal made = make_request({.tenant_id = options.tenant,
                                          .idempotency_key = key,
                                          .amount_minor = options.amount,
                                          .currency = options.currency,
                                          .details = details_text(options.details),
                                          .operation = options.operation,
                                          .order_ref = options.order_ref});
    if (const auto *refusal = std::get_if<Refusal>(&made)) {
        throw client::Error(refusal->sqlstate, refusal->reason);
    }
    return std::get<client::Request>(std::move(made));
}

void run(const Options &options, const Connection &connection)
{
    if (options.key.has_value() == options.new_key) {
        throw CLI::ValidationError("create", "give either --key or --new-key");
    }
    const client::Request request = request_of(options, options.new_key ? client::Key::make().text() : *options.key);
    if (options.new_key) {
        // Before anything is sent: whoever loses the answer can repeat the request with it.
        std::cerr << "key: " << request.key.text() << std::endl;
    }
    client::Client client(connection.client_options(kTimeout));
    const client::Result result =
        options.attempt ? client.try_create_transaction(request) : client.create_transaction(request);
    const std::vector<Cell> cells = cells_of(request, result);
    options.json ? print_cells_json(std::cout, cells) : print_cells(std::cout, cells);
    const bool done = result.outcome == client::Outcome::created || result.outcome == client::Outcome::replayed;
    end_with(done ? kDone : kConflict);
}

} // namespace

void add_create(CLI::App &app, const Connection &connection)
{
    auto options = std::make_shared<Options>();
    CLI::App *command = app.add_subcommand("create", "Create a transaction once, or show the one created before");
    command->add_option("--tenant", options->tenant, "Whose request it is")->required();
    command->add_option("--key", options->key, "The idempotency key: the same one whenever the request is repeated");
    command->add_flag("--new-key", options->new_key, "Make a key, and print it on standard error before sending");
    command->add_option("--amount", options->amount, "Amount in the currency's minor unit, such as cents")->required();
    command->add_option("--currency", options->currency, "Three letters A-Z")->required();
    command->add_option("--details", options->details,
                        "A JSON object; @FILE reads it from a file, - from standard input");
    command->add_option("--operation", options->operation, "What the request does (create-transaction)");
    command->add_option("--order-ref", options->order_ref,
                        "The business's own number, unique per tenant and operation");
    command->add_flag("--try", options->attempt, "Take a conflict as an outcome, not as an error");
    command->add_flag("--json", options->json, "Print the row as one JSON object");
    command->footer("Example:\n"
                    "  idem create --tenant shop-7 --key cart-19 --amount 4480 --currency EUR \\\n"
                    "    --details '{\"sku\": \"B-7\"}'\n\n"
                    "It repeats the call by itself after a lost connection, for 5 seconds unless --timeout says\n"
                    "otherwise. With the exit codes 3, 4 and 6 run it again with the same key: the outcome tells\n"
                    "whether the first run had succeeded.\n\n"
                    "Exit codes: 0 created or replayed, 2 usage, 3 no connection, 4 in doubt, 5 conflict (ID001,\n"
                    "ID003), 6 in progress or busy (ID002), 7 invalid, 8 another error, 9 a file cannot be read.");
    command->callback([options, &connection] { run(*options, connection); });
}

} // namespace idem::cli
