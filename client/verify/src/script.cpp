#include "script.hpp"

#include "chance.hpp"

#include <algorithm>
#include <array>

namespace idem::verify {

namespace {

// Keys come in groups that share tenant and operation; the first two of a group share an order.
constexpr std::uint64_t kGroup = 8;
constexpr std::uint64_t kTenants = 3;
constexpr std::array<const char *, 3> kCurrencies{"EUR", "USD", "JPY"};

// The details of a request, with the members in one of two orders: the same to the server, other octets.
std::string details_of(std::uint64_t item, std::uint64_t quantity, bool reworded)
{
    const std::string first = R"("item": "item )" + std::to_string(item) + '"';
    const std::string second =
        R"("lines": [{"sku": )" + std::to_string(item * 7 + 1) + R"(, "quantity": )" + std::to_string(quantity) + "}]";
    return reworded ? "{ " + second + " ,\n  " + first + " }" : "{" + first + ", " + second + "}";
}

// The quantity in the details of a key's request.
std::uint64_t quantity_of(std::uint64_t seed, std::uint64_t key)
{
    return 1 + Chance(seed, key, 1).below(9);
}

// A request that is not the same any more, in one of the parts that count.
void change(Posed &request, std::uint64_t key, Chance &chance)
{
    switch (chance.below(4)) {
    case 0:
        request.amount_minor += 1 + static_cast<std::int64_t>(chance.below(3));
        break;
    case 1:
        request.currency = request.currency == "EUR" ? "CHF" : "EUR";
        break;
    case 2:
        request.details = details_of(key, 100, false);
        break;
    default:
        request.order_ref = request.order_ref ? std::nullopt : std::optional("other " + std::to_string(key));
        break;
    }
}

// A key near the front, where other lanes are as well, or one that was used before.
std::uint64_t choose_key(std::uint64_t front, Chance &chance)
{
    const std::uint64_t kind = chance.below(100);
    if (kind < 65) {
        return front - std::min<std::uint64_t>(front, chance.below(3));
    }
    if (kind < 80) {
        return front - std::min<std::uint64_t>(front, chance.below(30));
    }
    return chance.below(front + 1);
}

// The next key, beginning with the given one, whose transaction has no business row.
std::uint64_t without_posting(std::uint64_t key)
{
    while (Script::has_posting(key)) {
        key++;
    }
    return key;
}

} // namespace

Script::Script(std::uint64_t seed, std::string tenant_prefix, std::uint64_t keys)
    : seed_(seed), tenant_prefix_(std::move(tenant_prefix)),
      // Whole groups, so that the last one has keys of each sort.
      keys_((keys + kGroup - 1) / kGroup * kGroup)
{
}

bool Script::has_posting(std::uint64_t key) noexcept
{
    const std::uint64_t place = key % kGroup;
    return place != 1 && place != 5 && place != 7;
}

Posed Script::request(std::uint64_t key) const
{
    Chance chance(seed_, key);
    const std::uint64_t group = key / kGroup;
    Posed request;
    request.scope.tenant_id = tenant_prefix_ + "-" + std::to_string(group % kTenants);
    request.scope.operation = group % 2 == 0 ? "pay" : "refund";
    request.scope.key = "key-" + std::to_string(key);
    request.amount_minor = 1 + static_cast<std::int64_t>(chance.below(1'000'000));
    request.currency = kCurrencies.at(chance.below(kCurrencies.size()));
    request.details = details_of(key, quantity_of(seed_, key), false);
    if (key % kGroup < 2) {
        request.order_ref = "order " + std::to_string(group);
    } else if (key % kGroup == 2) {
        request.order_ref = "own order " + std::to_string(group);
    }
    return request;
}

Step Script::step(int process, int lane, std::uint64_t number) const
{
    Chance chance(seed_, process, lane, number);
    const auto bounded = [&](std::uint64_t key) { return keys_ == 0 ? key : key % keys_; };
    const auto pose = [&](std::uint64_t key) {
        Posed posed = request(key);
        if (chance.in_thousand(80)) {
            change(posed, key, chance);
        } else if (chance.in_thousand(60)) {
            posed.details = details_of(key, quantity_of(seed_, key), true);
        }
        return posed;
    };

    Step step;
    const std::uint64_t key = bounded(choose_key(number, chance));
    step.requests.push_back(pose(key));
    if (has_posting(key)) {
        step.kind = Kind::once;
        step.asks = chance.in_thousand(150);
        step.holds = std::chrono::milliseconds(chance.in_thousand(50) ? 5 + chance.below(40) : 0);
        step.action_fails = chance.in_thousand(20);
        return step;
    }
    const std::uint64_t kind = chance.below(100);
    step.kind = kind < 40 ? Kind::create : kind < 70 ? Kind::attempt : Kind::batch;
    const std::uint64_t more = step.kind == Kind::batch ? 1 + chance.below(20) : 0;
    for (std::uint64_t i = 0; i < more; i++) {
        step.requests.push_back(pose(bounded(without_posting(choose_key(number, chance)))));
    }
    return step;
}

} // namespace idem::verify
