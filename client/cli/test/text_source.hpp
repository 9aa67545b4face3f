#pragma once

#include "source.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace idem::cli::test {

/// A text as a file that comes in pieces of a few octets, as a pipe may give it.
class TextSource final : public Source {
public:
    explicit TextSource(std::string text, std::size_t piece = 7) : text_(std::move(text)), piece_(piece) {}

    std::size_t read(std::span<char> room) override
    {
        const std::size_t octets = std::min({room.size(), piece_, text_.size() - at_});
        std::copy_n(text_.begin() + static_cast<std::ptrdiff_t>(at_), octets, room.begin());
        at_ += octets;
        return octets;
    }

private:
    std::string text_;
    std::size_t piece_;
    std::size_t at_ = 0;
};

} // namespace idem::cli::test
