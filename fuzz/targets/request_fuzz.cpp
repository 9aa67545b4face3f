// The rules for a request: what the client refuses before it sends, and what the core's checks refuse in the server.

#include "document.h"
#include "octets.h"
#include "refusal.h"
#include "require.h"
#include "slow_text.h"

#include "error.h"
#include "request.h"

#include <idem/request.hpp>

#include <cstdint>
#include <cstring>

namespace idem::fuzz {
namespace {

struct Fields {
    std::string tenant_id;
    std::string key;
    int64_t amount_minor;
    std::string currency;
    std::string details;
    std::string operation;
    std::optional<std::string> order_ref;
};

// A text that is fine, or is near to what is not: near the limit, with blanks, or of any octets.
std::string take_text(Octets &octets)
{
    const unsigned form = octets.octet();
    switch (form % 8) {
    case 0:
        return std::string(octets.take(octets.octet()));
    case 1: // around the limits of 100 and 255 octets
        return std::string((form & 8U ? 96U : 251U) + octets.below(8), 'k') + take_characters(octets, 1);
    case 2:
        return std::string(octets.below(2), ' ') + take_characters(octets, octets.below(4));
    case 3:
        return "k" + take_characters(octets, octets.below(40)) + std::string(octets.take(octets.below(5)));
    default:
        return take_characters(octets, 1 + octets.below(8));
    }
}

int64_t take_amount(Octets &octets)
{
    const unsigned form = octets.below(8);
    if (form > 3) {
        return form;
    }
    int64_t amount = 0;
    const std::string_view taken = octets.take(sizeof amount);
    std::memcpy(&amount, taken.data(), taken.size());
    return amount;
}

std::string take_currency(Octets &octets)
{
    return octets.below(4) > 0 ? "EUR" : std::string(octets.take(octets.below(5)));
}

// What the server refuses first, as `SQLSTATE argument`, by the order of checks in docs/reference.md. Text that is not
// in the database's encoding it refuses while it reads the arguments; the client, which has one pass, refuses it in its
// turn.
std::string slow_refusal(const Fields &fields)
{
    const auto named = [](const std::string &sqlstate, const char *argument) { return sqlstate + " " + argument; };
    if (const std::string refusal = slow_text_refusal(fields.tenant_id, 255); !refusal.empty()) {
        return named(refusal, "tenant_id");
    }
    if (fields.amount_minor < 1) {
        return named("22023", "amount_minor");
    }
    const std::string &currency = fields.currency;
    if (currency.size() != 3 || currency.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") != std::string::npos) {
        return named("22023", "currency");
    }
    if (!slow_characters(fields.details) || fields.details.find('\0') != std::string::npos) {
        return named("22021", "details");
    }
    if (const std::string refusal = slow_text_refusal(fields.operation, 100); !refusal.empty()) {
        return named(refusal, "operation");
    }
    if (fields.order_ref) {
        if (const std::string refusal = slow_text_refusal(*fields.order_ref, 255); !refusal.empty()) {
            return named(refusal, "order_ref");
        }
    }
    return "";
}

// The refusal of the client, as `SQLSTATE argument`.
std::string client_refusal(const client::Request &request)
{
    try {
        client::check(request);
    } catch (const client::Error &error) {
        const std::string message = error.what();
        return error.sqlstate() + " " + message.substr(0, message.find(' '));
    }
    return "";
}

// What the server calls for a text, octets and characters apart.
bool core_refuses(const core::TextRule &rule, const std::string &text)
{
    try {
        core::check_length(rule, text.size());
        core::check_characters(rule, text);
    } catch (const core::Error &) {
        return true;
    }
    return false;
}

void check_core(const core::TextRule &rule, const std::string &text, size_t limit)
{
    const std::string refusal = slow_text_refusal(text, limit);
    if (refusal != "22021") { // else the server has refused it before
        require(core_refuses(rule, text) == !refusal.empty(), "the server refuses a text exactly by its rules");
    }
}

void check(const Fields &fields)
{
    check_core(core::kTenantRule, fields.tenant_id, 255);
    check_core(core::kKeyRule, fields.key, 255);
    check_core(core::kOperationRule, fields.operation, 100);
    check_core(core::kOrderRefRule, fields.order_ref.value_or("o"), 255);
    const std::string key_refusal = slow_text_refusal(fields.key, 255);
    require(refusal_of([&] { client::Key key(fields.key); }) == key_refusal,
            "the client refuses a key exactly where the server would");
    const client::Request request{.tenant_id = fields.tenant_id,
                                  .key = client::Key(key_refusal.empty() ? fields.key : "k"),
                                  .amount_minor = fields.amount_minor,
                                  .currency = fields.currency,
                                  .details = fields.details,
                                  .operation = fields.operation,
                                  .order_ref = fields.order_ref};
    require(client_refusal(request) == slow_refusal(fields), "the client refuses what the server would, for the same");
}

} // namespace
} // namespace idem::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    using namespace idem::fuzz;
    Octets octets(data, size);
    Fields fields;
    fields.tenant_id = take_text(octets);
    fields.key = take_text(octets);
    fields.amount_minor = take_amount(octets);
    fields.currency = take_currency(octets);
    fields.operation = take_text(octets);
    if (octets.below(2) == 1) {
        fields.order_ref = take_text(octets);
    }
    fields.details = octets.rest();
    check(fields);
    return 0;
}
