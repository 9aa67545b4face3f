#include "record.hpp"

#include "json_scan.hpp"

#include <idem/error.hpp>
#include <utf8.h> // idem::core::is_utf8

#include <array>
#include <charconv>
#include <string_view>

namespace idem::cli {
namespace {

constexpr char kInvalidParameter[] = "22023";
constexpr char kInvalidText[] = "22P02";
constexpr char kNotInEncoding[] = "22021";
constexpr char kOutOfRange[] = "22003";

struct FieldName {
    std::string_view name;
    std::optional<std::string> Fields::*member;
    bool required;
};

constexpr std::array<FieldName, 7> kFieldNames{{
    {"tenant_id", &Fields::tenant_id, true},
    {"idempotency_key", &Fields::idempotency_key, true},
    {"amount_minor", &Fields::amount_minor, true},
    {"currency", &Fields::currency, true},
    {"details", &Fields::details, false},
    {"operation", &Fields::operation, false},
    {"order_ref", &Fields::order_ref, false},
}};

bool is_whole_number(std::string_view text)
{
    if (text.starts_with('-')) {
        text.remove_prefix(1);
    }
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// What is wrong with details, if anything.
std::optional<Refusal> check_details(std::string_view details)
{
    if (!core::is_utf8(details)) {
        return Refusal{Fate::invalid, kNotInEncoding, "details are not valid UTF-8"};
    }
    try {
        if (scan_json(details).kind != JsonKind::object) {
            return Refusal{Fate::invalid, kInvalidParameter, "details must be a JSON object"};
        }
    } catch (const JsonError &error) {
        return Refusal{Fate::invalid, kInvalidText, std::string("details are not JSON: ") + error.what()};
    }
    return std::nullopt;
}

std::optional<Refusal> check_fields(const Fields &fields)
{
    for (const FieldName &field : kFieldNames) {
        if (field.required && !(fields.*field.member)) {
            return Refusal{Fate::unreadable, {}, std::string(field.name) + " is missing"};
        }
    }
    if (!is_whole_number(*fields.amount_minor)) {
        return Refusal{Fate::unreadable, {}, "amount_minor must be a whole number, written in digits"};
    }
    return fields.details ? check_details(*fields.details) : std::nullopt;
}

} // namespace

const char *to_string(Fate fate) noexcept
{
    switch (fate) {
    case Fate::created:
        return "created";
    case Fate::replayed:
        return "replayed";
    case Fate::valid:
        return "valid";
    case Fate::conflict:
        return "conflict";
    case Fate::order_taken:
        return "order_taken";
    case Fate::invalid:
        return "invalid";
    case Fate::unreadable:
        break;
    }
    return "unreadable";
}

std::optional<std::string> *field_named(Fields &fields, std::string_view name) noexcept
{
    for (const FieldName &field : kFieldNames) {
        if (field.name == name) {
            return &(fields.*field.member);
        }
    }
    return nullptr;
}

std::optional<std::int64_t> parse_amount(std::string_view text) noexcept
{
    std::int64_t amount = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), amount);
    if (error != std::errc{} || end != text.data() + text.size()) {
        return std::nullopt;
    }
    return amount;
}

RequestOrRefusal make_request(Fields fields)
{
    if (std::optional<Refusal> refusal = check_fields(fields)) {
        return *std::move(refusal);
    }
    const std::optional<std::int64_t> amount = parse_amount(*fields.amount_minor);
    if (!amount) {
        return Refusal{Fate::invalid, kOutOfRange, "amount_minor is out of range"};
    }
    try {
        client::Request request{.tenant_id = *std::move(fields.tenant_id),
                                .key = client::Key(*std::move(fields.idempotency_key)),
                                .amount_minor = *amount,
                                .currency = *std::move(fields.currency),
                                .order_ref = std::move(fields.order_ref)};
        if (fields.details) {
            request.details = *std::move(fields.details);
        }
        if (fields.operation) {
            request.operation = *std::move(fields.operation);
        }
        client::check(request);
        return request;
    } catch (const client::Error &error) {
        return Refusal{Fate::invalid, error.sqlstate(), error.message()};
    }
}

} // namespace idem::cli
