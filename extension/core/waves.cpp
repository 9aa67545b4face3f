#include "waves.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace idem::core {

template <typename Key>
void Waves::divide(Items &items, std::vector<Group> &groups, std::vector<uint32_t> &group_of, Key key)
{
    std::sort(items.begin(), items.end(), [&](uint32_t a, uint32_t b) {
        return std::tuple_cat(key(a), std::tuple(a)) < std::tuple_cat(key(b), std::tuple(b));
    });
    for (uint32_t at = 0; at < items.size(); ++at) {
        if (at == 0 || key(items[at - 1]) != key(items[at])) {
            groups.push_back({at, at, false});
        }
        groups.back().end = at + 1;
        group_of[items[at]] = static_cast<uint32_t>(groups.size() - 1);
    }
}

Waves::Waves(const std::vector<WaveItem> &items)
    : by_scope_(items.size()), scope_of_(items.size(), kNone), order_of_(items.size(), kNone), settled_(items.size())
{
    std::iota(by_scope_.begin(), by_scope_.end(), 0);
    std::copy_if(by_scope_.begin(), by_scope_.end(), std::back_inserter(by_order_),
                 [&](uint32_t item) { return items[item].order_ref.has_value(); });
    divide(by_scope_, scopes_, scope_of_, [&](uint32_t item) {
        return std::tuple(items[item].tenant_id, items[item].operation, items[item].idempotency_key);
    });
    divide(by_order_, orders_, order_of_, [&](uint32_t item) {
        return std::tuple(items[item].tenant_id, items[item].operation, *items[item].order_ref);
    });
    open_.resize(scopes_.size());
    std::iota(open_.begin(), open_.end(), 0);
}

uint32_t Waves::first_of(const Items &items, Group &group) const
{
    while (group.first < group.end && settled_[items[group.first]]) {
        ++group.first;
    }
    return group.first < group.end ? items[group.first] : kNone;
}

const Waves::Items &Waves::next()
{
    wave_.clear();
    holds_back_ = false;
    for (const uint32_t item : scopes()) {
        const uint32_t order = order_of_[item];
        if (order == kNone || orders_[order].owned || first_of(by_order_, orders_[order]) == item) {
            wave_.push_back(item);
        } else {
            holds_back_ = true;
        }
    }
    return wave_;
}

Waves::Items Waves::scopes()
{
    Items items;
    std::erase_if(open_, [&](uint32_t scope) {
        const uint32_t first = first_of(by_scope_, scopes_[scope]);
        if (first != kNone) {
            items.push_back(first);
        }
        return first == kNone;
    });
    return items;
}

Waves::Items Waves::same_scope(uint32_t item) const
{
    const Group &group = scopes_[scope_of_[item]];
    Items items;
    std::copy_if(by_scope_.begin() + group.first, by_scope_.begin() + group.end, std::back_inserter(items),
                 [&](uint32_t other) { return !settled_[other]; });
    return items;
}

void Waves::own_order(uint32_t item)
{
    if (order_of_[item] != kNone) {
        orders_[order_of_[item]].owned = true;
    }
}

} // namespace idem::core
