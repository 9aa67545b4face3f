#pragma once

#include "load_report.hpp"

#include <functional>
#include <span>
#include <vector>

namespace idem::cli {

/// Collects records into batches, sends those, and tells the report what became of each record, in their order.
class Loader {
public:
    /// Sends requests in one database transaction; answers in their order. What it throws for one of them
    /// (concerns_a_request) was thrown for nothing of the batch stored.
    using Send = std::function<std::vector<client::BatchResult>(std::span<const client::Request>)>;

    struct Limits {
        std::size_t records = 1000;
        /// Long records make smaller batches, so that memory is bounded.
        std::size_t octets = std::size_t{16} << 20;
    };

    Loader(Send send, LoadReport &report, Limits limits);

    /// Takes a record, and sends the batch where it is full. Throws what sending throws; the report has then what was
    /// answered before.
    void add(Record record);
    /// Sends what is left.
    void flush();

private:
    struct Place {
        std::uint64_t line;
        std::optional<Refusal> refusal; // Of a record that is not sent.
    };

    void send(std::span<const client::Request> requests);
    void tell();

    Send send_;
    LoadReport &report_;
    Limits limits_;
    std::vector<Place> places_;
    std::vector<client::Request> requests_;
    std::vector<Refusal> answers_; // Of the first requests; a fate alone where it is no refusal.
    std::size_t octets_ = 0;
};

/// Whether an error of a batch may be about one of its requests and not about the database: what the server cannot read
/// (such as a number beyond the limits of jsonb), or what a constraint or a trigger of the user refuses.
[[nodiscard]] bool concerns_a_request(std::string_view sqlstate) noexcept;

} // namespace idem::cli
