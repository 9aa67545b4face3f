#include "slow_record.h"

#include "slow_json.h"
#include "slow_text.h"

#include <map>
#include <set>

namespace idem::fuzz {
namespace {

using Texts = std::map<std::string, std::string>;

const std::string kUnreadable = "unreadable ";
const std::set<std::string> kFields{"tenant_id", "idempotency_key", "amount_minor", "currency",
                                    "details",   "operation",       "order_ref"};

std::string invalid(const std::string &sqlstate)
{
    return "invalid " + sqlstate;
}

// The fields as one text; details as they stand in the file.
std::string joined(const Texts &texts)
{
    std::string out;
    for (const auto &[name, text] : texts) {
        out += name;
        out += '=' + std::to_string(text.size()) + ':';
        out += text;
    }
    return out;
}

std::string text_or(const Texts &texts, const std::string &name, const std::string &otherwise)
{
    const auto found = texts.find(name);
    return found == texts.end() ? otherwise : found->second;
}

// Whether digits stand for a number of 64 bits.
bool fits(std::string digits)
{
    const bool negative = digits.starts_with('-');
    digits.erase(0, negative ? 1 : 0);
    digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size() - 1));
    const std::string most = negative ? "9223372036854775808" : "9223372036854775807";
    return digits.size() < most.size() || (digits.size() == most.size() && digits <= most);
}

bool is_whole(const std::string &text)
{
    const std::string digits = text.starts_with('-') ? text.substr(1) : text;
    return !digits.empty() && digits.find_first_not_of("0123456789") == std::string::npos;
}

bool is_object(const std::string &details, bool &is_json)
{
    const auto json = slow_json(details);
    is_json = json.has_value();
    return json && json->document.kind == Document::Kind::object;
}

// What the rules for requests make of the texts.
std::string judge(const Texts &texts)
{
    for (const char *name : {"tenant_id", "idempotency_key", "amount_minor", "currency"}) {
        if (!texts.contains(name)) {
            return kUnreadable;
        }
    }
    const std::string &amount = texts.at("amount_minor");
    if (!is_whole(amount)) {
        return kUnreadable;
    }
    const std::string details = text_or(texts, "details", "{}");
    bool is_json = false;
    if (!is_object(details, is_json)) {
        return invalid(is_json ? "22023" : "22P02");
    }
    if (!fits(amount)) {
        return invalid("22003");
    }
    const std::string operation = text_or(texts, "operation", "create-transaction");
    const std::string &currency = texts.at("currency");
    for (const std::string &refusal :
         {slow_text_refusal(texts.at("idempotency_key"), 255), slow_text_refusal(texts.at("tenant_id"), 255),
          std::string(amount.find_first_of("123456789") == std::string::npos || amount[0] == '-' ? "22023" : ""),
          std::string(currency.size() != 3 ||
                              currency.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") != std::string::npos
                          ? "22023"
                          : ""),
          slow_text_refusal(operation, 100), slow_text_refusal(text_or(texts, "order_ref", "none"), 255)}) {
        if (!refusal.empty()) {
            return invalid(refusal);
        }
    }
    Texts all = texts;
    all["amount_minor"] = std::to_string(std::stoll(amount));
    all["details"] = details;
    all["operation"] = operation;
    return joined(all);
}

} // namespace

std::string summary(const cli::RequestOrRefusal &content)
{
    if (const auto *refusal = std::get_if<cli::Refusal>(&content)) {
        return std::string(to_string(refusal->fate)) + " " + refusal->sqlstate;
    }
    const auto &request = std::get<client::Request>(content);
    Texts texts{{"tenant_id", request.tenant_id},
                {"idempotency_key", request.key.text()},
                {"amount_minor", std::to_string(request.amount_minor)},
                {"currency", request.currency},
                {"details", request.details},
                {"operation", request.operation}};
    if (request.order_ref) {
        texts["order_ref"] = *request.order_ref;
    }
    return joined(texts);
}

std::optional<std::string> slow_record(const std::string &line)
{
    if (!slow_characters(line)) {
        return kUnreadable + "22021";
    }
    const auto json = slow_json(line);
    if (json && json->deep) {
        return std::nullopt;
    }
    if (!json || json->document.kind != Document::Kind::object) {
        return kUnreadable;
    }
    Texts texts;
    std::set<std::string> names;
    for (const SlowMember &member : json->members) {
        const bool is_field = kFields.contains(member.name);
        if (member.half_name || (is_field && !names.insert(member.name).second)) {
            return kUnreadable;
        }
        if (!is_field || member.value.kind == Document::Kind::null) {
            continue;
        }
        const bool is_string = member.value.kind == Document::Kind::string;
        const bool is_amount = member.name == "amount_minor" && member.value.kind == Document::Kind::number;
        const bool is_details = member.name == "details" && member.value.kind == Document::Kind::object;
        if ((!is_string && !is_amount && !is_details) || (is_string && member.half_value)) {
            return kUnreadable;
        }
        texts[member.name] = is_details ? std::string(member.raw) : member.value.text;
    }
    const auto details = slow_json(text_or(texts, "details", "{}"));
    return details && details->deep ? std::nullopt : std::optional(judge(texts));
}

} // namespace idem::fuzz
