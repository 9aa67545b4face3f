#include <idem/request.hpp>

#include "text.h"

namespace idem::client {

const char *to_string(Outcome outcome) noexcept
{
    switch (outcome) {
    case Outcome::created:
        return "created";
    case Outcome::replayed:
        return "replayed";
    case Outcome::conflict:
        return "conflict";
    case Outcome::order_taken:
        return "order_taken";
    case Outcome::invalid:
        break;
    }
    return "invalid";
}

// In the order in which the server checks, so that both name the same fault.
void check(const Request &request)
{
    check_text(core::kTenantRule, request.tenant_id);
    by_core([&] {
        core::check_amount(request.amount_minor);
        core::check_currency(request.currency);
    });
    check_utf8("details", request.details);
    if (request.details.find('\0') != std::string::npos) {
        throw Error("22021", "details must not contain NUL");
    }
    check_text(core::kOperationRule, request.operation);
    if (request.order_ref) {
        check_text(core::kOrderRefRule, *request.order_ref);
    }
}

} // namespace idem::client
