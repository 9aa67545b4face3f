#include "record.h"

#include <openssl/evp.h>

#include <array>
#include <charconv>
#include <concepts>
#include <new>

namespace idem::cache {

namespace {

// Changes with every change of the form, so that releases beside each other do not misread each other's records.
constexpr std::string_view kForm = "idem-result 1\n";

void append_escaped(std::string &name, std::string_view part)
{
    for (const char c : part) {
        switch (c) {
        case '%':
            name += "%25";
            break;
        case ':':
            name += "%3A";
            break;
        case '{':
            name += "%7B";
            break;
        case '}':
            name += "%7D";
            break;
        default:
            name += c;
        }
    }
}

// SHA-256 in hexadecimal digits.
std::string sha256(std::string_view octets)
{
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned int length = 0;
    if (EVP_Digest(octets.data(), octets.size(), digest.data(), &length, EVP_sha256(), nullptr) != 1) {
        throw std::bad_alloc(); // the only way in which it fails for a digest that there is
    }
    std::string digits;
    digits.reserve(std::size_t{length} * 2);
    for (unsigned int i = 0; i < length; ++i) {
        digits += kDigits[digest[i] >> 4];
        digits += kDigits[digest[i] & 0xF];
    }
    return digits;
}

// A field is a line `name length octets`. The length is what ends it: its octets may be any.
void append_field(std::string &record, std::string_view name, std::string_view octets)
{
    record.append(name).append(" ").append(std::to_string(octets.size())).append(" ").append(octets).append("\n");
}

// A digest of every octet of the request. The fields have lengths, so no two requests have the same text.
std::string request_digest(const client::Request &request, std::string_view ledger)
{
    std::string text = "idem-request 1\n";
    append_field(text, "ledger", ledger);
    append_field(text, "tenant_id", request.tenant_id);
    append_field(text, "operation", request.operation);
    append_field(text, "key", request.key.text());
    append_field(text, "amount_minor", std::to_string(request.amount_minor));
    append_field(text, "currency", request.currency);
    append_field(text, "details", request.details);
    if (request.order_ref) {
        append_field(text, "order_ref", *request.order_ref);
    }
    return sha256(text);
}

bool is_uuid(std::string_view text)
{
    constexpr std::size_t kLength = 36;
    if (text.size() != kLength) {
        return false;
    }
    for (std::size_t i = 0; i < kLength; ++i) {
        const bool hyphen = i == 8 || i == 13 || i == 18 || i == 23;
        const char c = text[i];
        const bool digit = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
        if (hyphen ? c != '-' : !digit) {
            return false;
        }
    }
    return true;
}

// Whether a request can have this result: what the fingerprint covers is in the stored row as it was sent.
bool fits(const client::Request &request, const client::Result &result)
{
    return is_uuid(result.transaction_id) && result.amount_minor == request.amount_minor &&
           result.currency == request.currency && result.order_ref == request.order_ref &&
           result.details.starts_with('{') && result.details.ends_with('}');
}

std::string write(const std::string &digest, const client::Result &result)
{
    std::string record(kForm);
    append_field(record, "request", digest);
    append_field(record, "transaction_id", result.transaction_id);
    append_field(record, "amount_minor", std::to_string(result.amount_minor));
    append_field(record, "currency", result.currency);
    append_field(record, "details", result.details);
    if (result.order_ref) {
        append_field(record, "order_ref", *result.order_ref);
    }
    append_field(record, "created_at", std::to_string(result.created_at.time_since_epoch().count()));
    append_field(record, "record", sha256(record));
    return record;
}

// Takes the next field, if that is its name.
std::optional<std::string_view> take_field(std::string_view &rest, std::string_view name)
{
    if (!rest.starts_with(name) || !rest.substr(name.size()).starts_with(' ')) {
        return std::nullopt;
    }
    const auto after_name = rest.substr(name.size() + 1);
    std::size_t length = 0;
    const auto [end, error] = std::from_chars(after_name.data(), after_name.data() + after_name.size(), length);
    const auto after_length = after_name.substr(static_cast<std::size_t>(end - after_name.data()));
    // The octets have a blank before and a line feed behind them.
    if (error != std::errc() || after_length.size() < 2 || after_length.size() - 2 < length) {
        return std::nullopt;
    }
    rest = after_length.substr(length + 2);
    return after_length.substr(1, length);
}

// Takes the next field, if it begins with a number.
template <std::signed_integral T>
std::optional<T> take_number(std::string_view &rest, std::string_view name)
{
    const auto text = take_field(rest, name);
    T number = 0;
    if (!text || std::from_chars(text->data(), text->data() + text->size(), number).ec != std::errc()) {
        return std::nullopt;
    }
    return number;
}

// Takes what the fields say. Whether the record says it in the one form that there is, the caller finds out.
std::optional<client::Result> parse(std::string_view rest)
{
    if (!rest.starts_with(kForm)) {
        return std::nullopt;
    }
    rest.remove_prefix(kForm.size());
    const auto request = take_field(rest, "request");
    const auto transaction_id = take_field(rest, "transaction_id");
    const auto amount_minor = take_number<std::int64_t>(rest, "amount_minor");
    const auto currency = take_field(rest, "currency");
    const auto details = take_field(rest, "details");
    const auto order_ref = take_field(rest, "order_ref");
    const auto created_at = take_number<std::chrono::microseconds::rep>(rest, "created_at");
    if (!request || !transaction_id || !amount_minor || !currency || !details || !created_at) {
        return std::nullopt;
    }
    client::Result result;
    result.outcome = client::Outcome::replayed;
    result.transaction_id = *transaction_id;
    result.amount_minor = *amount_minor;
    result.currency = *currency;
    result.details = *details;
    result.order_ref = order_ref;
    result.created_at = client::Timestamp(std::chrono::microseconds(*created_at));
    return result;
}

} // namespace

std::string record_name(const client::Request &request, std::string_view ledger)
{
    std::string name = "idem:";
    if (!ledger.empty()) {
        append_escaped(name, ledger);
        name += ':';
    }
    name += '{';
    append_escaped(name, request.tenant_id);
    name += ':';
    append_escaped(name, request.operation);
    name += ':';
    append_escaped(name, request.key.text());
    name += '}';
    return name;
}

std::optional<std::string> write_record(const client::Request &request, std::string_view ledger,
                                        const client::Result &result)
{
    if (!fits(request, result)) {
        return std::nullopt;
    }
    return write(request_digest(request, ledger), result);
}

std::optional<client::Result> read_record(const client::Request &request, std::string_view ledger,
                                          std::string_view record)
{
    auto result = parse(record);
    // Writing it again is the whole check: of the digest of the request, of the one of the record, and of the form.
    if (!result || !fits(request, *result) || write(request_digest(request, ledger), *result) != record) {
        return std::nullopt;
    }
    return result;
}

} // namespace idem::cache
