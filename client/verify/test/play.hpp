#pragma once

#include "checker.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace idem::verify {

/// A small play written by hand: what a test says happened, and what it says is stored.
class Play {
public:
    /// The request of a key; each key has its own amount.
    static Posed request(const std::string &key, std::optional<std::string> order_ref = {})
    {
        return Posed{Scope{"t", "pay", key}, 1000 + static_cast<std::int64_t>(key.size()), "EUR",
                     R"({"a": 1, "b": [2]})", std::move(order_ref)};
    }

    /// The same key with other content.
    static Posed changed(const std::string &key)
    {
        Posed posed = request(key);
        posed.currency = "USD";
        return posed;
    }

    /// Sends a call that gets no answer. Later calls are sent later.
    Play &send(Posed posed, Kind kind = Kind::create) { return send_all({std::move(posed)}, kind); }
    Play &send_all(std::vector<Posed> requests, Kind kind)
    {
        clock_ += 10;
        const std::uint64_t number = history_.calls.size();
        history_.calls.push_back(Call{"0", 0, 0, number, kind, std::move(requests), source(), clock_});
        return *this;
    }

    /// Makes the next call another try of the one before.
    Play &again()
    {
        history_.calls.back().number = history_.calls.at(history_.calls.size() - 2).number;
        return *this;
    }

    /// Answers the last call.
    Play &answer(std::vector<Answer> answers, int attempts = 1)
    {
        history_.calls.back().ending = Ending{source(), ++clock_, attempts, std::move(answers)};
        return *this;
    }
    Play &created(const std::string &id, int attempts = 1) { return answer({{Outcome::created, id}}, attempts); }
    Play &replayed(const std::string &id, int attempts = 1) { return answer({{Outcome::replayed, id}}, attempts); }
    Play &conflict() { return answer({{Outcome::conflict}}); }
    Play &order_taken() { return answer({{Outcome::order_taken}}); }
    Play &fail(const std::string &sqlstate, bool in_doubt = false)
    {
        history_.calls.back().ending = Ending{source(), ++clock_, 1, {}, sqlstate, in_doubt};
        return *this;
    }

    /// Stores the row of a request.
    Play &row(const Posed &posed, const std::string &id)
    {
        tables_.rows.push_back(
            Row{posed.scope, id, posed.amount_minor, posed.currency, posed.details, posed.order_ref});
        return *this;
    }

    /// Stores its business row.
    Play &posting(const Posed &posed, const std::string &id)
    {
        tables_.postings.push_back(Posting{posed.scope, id, posed.amount_minor, "0", 0});
        return *this;
    }

    /// What the checker says of it.
    [[nodiscard]] std::vector<Violation> verdict() const { return check(history_, tables_); }

    /// The properties that do not hold.
    [[nodiscard]] std::vector<Property> violated() const
    {
        std::vector<Property> properties;
        for (const Violation &violation : verdict()) {
            properties.push_back(violation.property);
        }
        properties.erase(std::unique(properties.begin(), properties.end()), properties.end());
        return properties;
    }

private:
    Source source() { return Source{&kFile, ++line_}; }

    inline static const std::string kFile = "by hand";
    History history_;
    Tables tables_;
    std::int64_t clock_ = 0;
    int line_ = 0;
};

} // namespace idem::verify
