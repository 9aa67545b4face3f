#pragma once

#include "calls.h"
#include "encode.h"
#include "wire.h"

#include <idem/call.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace idem::client {

/// Many requests, and the answers to those that cannot be sent.
class Batch {
public:
    /// Points into the requests, which must stay. Throws what a request is refused for where the mode is `all`, and
    /// Error 54000 for too many.
    Batch(std::span<const Request> requests, BatchMode mode);

    /// Whether there is nothing to ask the server for.
    [[nodiscard]] bool decided() const noexcept { return sent_.empty(); }

    /// Asks by the batch call, and gives the server's answer. Throws Error, 42883 where the server has no such
    /// function.
    ResultPtr call(Wire &wire, const Calls &calls);
    /// The answers to the requests, as the server's says. Throws Error 08P01 where it has another form.
    [[nodiscard]] std::vector<BatchResult> read(const PGresult *answer) const;

    /// The same by single calls in one pipeline, behind a BEGIN if wanted. The transaction stays open.
    std::vector<BatchResult> call_singly(Wire &wire, const Calls &calls, bool begin);

    /// The answers of a batch that is decided.
    [[nodiscard]] std::vector<BatchResult> answers() const { return answers_; }

private:
    std::vector<BatchResult> answers_with(std::vector<BatchResult> received) const;

    BatchMode mode_;
    std::vector<BatchResult> answers_;
    std::vector<const Request *> sent_;
    std::vector<std::size_t> places_; ///< Of those that are sent, among all.
    std::optional<BatchParameters> parameters_;
};

/// Whether the server's extension has the batch call. Fails nothing where it has not.
bool has_batch_call(Wire &wire, const Calls &calls);

} // namespace idem::client
