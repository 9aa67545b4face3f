#pragma once

#include "records.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace idem::verify {

/// A call of the play, and what its business action does.
struct Step {
    Kind kind = Kind::create;
    std::vector<Posed> requests;
    /// How long the action keeps the transaction open, so that others wait for it.
    std::chrono::milliseconds holds{0};
    /// The action throws instead of returning.
    bool action_fails = false;
    /// A scope with a business row that may be asked for without Client::once, once its row is acknowledged.
    bool asks = false;
};

/// What every process of a play does: a function of the seed and of who does it alone. So a process that was killed
/// finds out what it did, and a play can be repeated.
class Script {
public:
    /// `keys` bounds how many keys there are; 0 makes new ones as the play goes on.
    Script(std::uint64_t seed, std::string tenant_prefix, std::uint64_t keys);

    /// The call with the given number. Lanes that are at the same number use the same keys at the same time.
    [[nodiscard]] Step step(int process, int lane, std::uint64_t number) const;

    /// The request that belongs to a key, as most of the calls send it.
    [[nodiscard]] Posed request(std::uint64_t key) const;

    /// Whether the key's transaction has a business row, and so is made by Client::once alone.
    [[nodiscard]] static bool has_posting(std::uint64_t key) noexcept;

private:
    std::uint64_t seed_;
    std::string tenant_prefix_;
    std::uint64_t keys_;
};

} // namespace idem::verify
