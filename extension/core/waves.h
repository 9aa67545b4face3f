#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace idem::core {

/// One request of a batch, as far as it may stand in the way of others.
struct WaveItem {
    std::string_view tenant_id;
    std::string_view operation;
    std::string_view idempotency_key;
    std::optional<std::string_view> order_ref;
};

/// Divides a batch into waves that can each be inserted at once, such that the outcomes are those of single calls in
/// the order of the input: no two items of a wave have one scope or one order_ref that is still free, and an item comes
/// up only when the earlier ones that share either with it are settled. Within a wave items stand in the order of their
/// scopes, byte for byte, so that any two batches lock in the same order.
class Waves {
public:
    using Items = std::vector<uint32_t>; // places in the input

    /// The texts of `items` are needed only here.
    explicit Waves(const std::vector<WaveItem> &items);

    /// The next wave; empty where all items are settled. Each item of a wave has to be settled before the next one.
    const Items &next();
    /// Whether next() held items back because of their order_ref.
    bool holds_back() const { return holds_back_; }
    /// The first unsettled item of each scope, in the order of scopes.
    Items scopes();
    /// The unsettled items that have the scope of `item`, in the order of the input.
    Items same_scope(uint32_t item) const;

    /// All items in the order of scopes, and within one in that of the input.
    const Items &by_scope() const { return by_scope_; }

    /// Take an item out.
    void settle(uint32_t item) { settled_[item] = true; }
    bool is_settled(uint32_t item) const { return settled_[item]; }
    /// The order_ref of `item`, if it has one, has its transaction: nothing is held back for it any more.
    void own_order(uint32_t item);

private:
    static constexpr uint32_t kNone = UINT32_MAX;

    // Items that share something, in the order of the input; those before `first` are settled.
    struct Group {
        uint32_t first;
        uint32_t end;
        bool owned;
    };

    // Sort `items` and divide them into groups; notes the group of each item.
    template <typename Key>
    static void divide(Items &items, std::vector<Group> &groups, std::vector<uint32_t> &group_of, Key key);

    // The first unsettled item of a group; kNone where there is none.
    uint32_t first_of(const Items &items, Group &group) const;

    Items by_scope_;
    Items by_order_; // those with an order_ref
    std::vector<Group> scopes_;
    std::vector<Group> orders_;
    std::vector<uint32_t> scope_of_;
    std::vector<uint32_t> order_of_;
    std::vector<uint32_t> open_; // scopes with unsettled items, in order
    std::vector<bool> settled_;
    Items wave_;
    bool holds_back_ = false;
};

} // namespace idem::core
