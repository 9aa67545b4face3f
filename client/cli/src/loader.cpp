#include "loader.hpp"

#include <idem/error.hpp>

#include <stdexcept>

namespace idem::cli {
namespace {

Fate fate_of(client::Outcome outcome)
{
    switch (outcome) {
    case client::Outcome::created:
        return Fate::created;
    case client::Outcome::replayed:
        return Fate::replayed;
    case client::Outcome::conflict:
        return Fate::conflict;
    case client::Outcome::order_taken:
        return Fate::order_taken;
    case client::Outcome::invalid:
        break;
    }
    return Fate::invalid;
}

std::string reason_of(Fate fate)
{
    switch (fate) {
    case Fate::conflict:
        return "the key belongs to a request with other content";
    case Fate::order_taken:
        return "the order_ref has a transaction with another key";
    case Fate::invalid:
        return "the server refuses the request";
    default:
        return {};
    }
}

} // namespace

bool concerns_a_request(std::string_view sqlstate) noexcept
{
    return sqlstate.starts_with("22") || sqlstate.starts_with("23") || sqlstate.starts_with("54") ||
           sqlstate == "P0001" || sqlstate == "21000";
}

Loader::Loader(Send send, LoadReport &report, Limits limits) : send_(std::move(send)), report_(report), limits_(limits)
{
}

void Loader::add(Record record)
{
    Place place{record.line, std::nullopt};
    if (auto *refusal = std::get_if<Refusal>(&record.content)) {
        place.refusal = std::move(*refusal);
    } else {
        requests_.push_back(std::get<client::Request>(std::move(record.content)));
        octets_ += record.octets;
    }
    places_.push_back(std::move(place));
    if (places_.size() >= limits_.records || octets_ >= limits_.octets) {
        flush();
    }
}

void Loader::flush()
{
    try {
        if (!requests_.empty()) {
            send(requests_);
        }
    } catch (...) {
        tell();
        throw;
    }
    tell();
}

// Sends requests, in halves where the server cannot say which of them it cannot read.
void Loader::send(std::span<const client::Request> requests)
{
    try {
        const std::vector<client::BatchResult> results = send_(requests);
        if (results.size() != requests.size()) {
            throw std::logic_error("the server did not answer every request of a batch");
        }
        for (const client::BatchResult &result : results) {
            const Fate fate = fate_of(result.outcome);
            answers_.push_back({fate, result.sqlstate.value_or(""), reason_of(fate)});
        }
    } catch (const client::Error &error) {
        if (!concerns_a_request(error.sqlstate())) {
            throw;
        }
        if (requests.size() == 1) {
            answers_.push_back({Fate::invalid, error.sqlstate(), error.message()});
            return;
        }
        const std::size_t half = requests.size() / 2;
        send(requests.first(half));
        send(requests.subspan(half));
    }
}

// Tells the report all places up to the first request without an answer, and forgets the batch.
void Loader::tell()
{
    auto answer = answers_.begin();
    for (const Place &place : places_) {
        if (place.refusal) {
            report_.refuse(place.line, *place.refusal);
            continue;
        }
        if (answer == answers_.end()) {
            break;
        }
        if (answer->fate == Fate::created || answer->fate == Fate::replayed || answer->fate == Fate::valid) {
            report_.count(answer->fate);
        } else {
            report_.refuse(place.line, *answer);
        }
        ++answer;
    }
    places_.clear();
    requests_.clear();
    answers_.clear();
    octets_ = 0;
    report_.flush();
}

} // namespace idem::cli
