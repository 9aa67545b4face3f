#include "records.hpp"

#include <nlohmann/json.hpp>

namespace idem::verify {

namespace {

// One text per content. nlohmann::json sorts members; the numbers that a play uses are integers, which it keeps.
std::string canonical(std::int64_t amount_minor, const std::string &currency, const std::string &details,
                      const std::optional<std::string> &order_ref)
{
    nlohmann::json content = {amount_minor, currency, nlohmann::json::parse(details)};
    content.push_back(order_ref ? nlohmann::json(*order_ref) : nlohmann::json());
    return content.dump();
}

} // namespace

// The names are part of the format of histories.
const char *to_string(Kind kind) noexcept
{
    switch (kind) {
    case Kind::once:
        return "once";
    case Kind::create:
        return "create";
    case Kind::attempt:
        return "try";
    case Kind::batch:
        return "batch";
    }
    return "";
}

// The content of a request as one text.
std::string content_of(const Posed &request)
{
    return canonical(request.amount_minor, request.currency, request.details, request.order_ref);
}

// The content of a row as one text.
std::string content_of(const Row &row)
{
    return canonical(row.amount_minor, row.currency, row.details, row.order_ref);
}

} // namespace idem::verify
