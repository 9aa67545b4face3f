#include "decode.h"

#include "raise.h"
#include "uuid_text.h"

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace idem::client {
namespace {

[[noreturn]] void refuse()
{
    raise({"08P01",
           "the server's answer has not the expected form",
           {},
           "The versions of this library and of the extension may not fit."});
}

// One row of a result in the binary form.
class Row {
public:
    Row(const PGresult *result, int row) : result_(result), row_(row) {}

    [[nodiscard]] std::optional<std::string_view> octets(int column) const
    {
        if (PQgetisnull(result_, row_, column) == 1) {
            return std::nullopt;
        }
        return std::string_view(PQgetvalue(result_, row_, column),
                                static_cast<std::size_t>(PQgetlength(result_, row_, column)));
    }

    [[nodiscard]] std::string text(int column) const { return std::string(octets(column).value_or("")); }

    [[nodiscard]] std::optional<std::string> optional_text(int column) const
    {
        const auto value = octets(column);
        return value ? std::optional<std::string>(*value) : std::nullopt;
    }

    // An integer of so many octets, or nothing.
    [[nodiscard]] std::optional<std::int64_t> number(int column, std::size_t width) const
    {
        const auto value = octets(column);
        if (!value) {
            return std::nullopt;
        }
        if (value->size() != width) {
            refuse();
        }
        std::uint64_t number = 0;
        for (const char octet : *value) {
            number = number << 8U | static_cast<unsigned char>(octet);
        }
        return static_cast<std::int64_t>(number);
    }

    [[nodiscard]] std::optional<std::string> uuid(int column) const
    {
        const auto value = octets(column);
        if (!value) {
            return std::nullopt;
        }
        if (value->size() != 16) {
            refuse();
        }
        return uuid_text(reinterpret_cast<const unsigned char *>(value->data()));
    }

    // jsonb is sent as text behind its version, 1.
    [[nodiscard]] std::string jsonb(int column) const
    {
        const auto value = octets(column);
        if (!value) {
            return {};
        }
        if (value->empty() || value->front() != 1) {
            refuse();
        }
        return std::string(value->substr(1));
    }

    // What the clock cannot tell becomes its first or its last moment: -infinity, infinity, and years near the latter.
    [[nodiscard]] std::optional<Timestamp> timestamp(int column) const
    {
        using Limits = std::numeric_limits<std::int64_t>;
        // The server counts from 2000.
        constexpr std::int64_t kEpoch = 946684800LL * 1000 * 1000;
        const auto microseconds = number(column, 8);
        if (!microseconds) {
            return std::nullopt;
        }
        if (*microseconds == Limits::min()) {
            return Timestamp::min();
        }
        if (*microseconds > Limits::max() - kEpoch) {
            return Timestamp::max();
        }
        return Timestamp(std::chrono::microseconds(*microseconds + kEpoch));
    }

    [[nodiscard]] Outcome outcome(int column) const
    {
        constexpr std::array kOutcomes{Outcome::created, Outcome::replayed, Outcome::conflict, Outcome::order_taken,
                                       Outcome::invalid};
        const auto value = octets(column);
        for (const Outcome outcome : kOutcomes) {
            if (value == to_string(outcome)) {
                return outcome;
            }
        }
        refuse();
    }

private:
    const PGresult *result_;
    int row_;
};

// Refuses an answer with other numbers of rows and columns, or in the text form.
void check_form(const PGresult *result, std::size_t rows, int columns)
{
    bool fits = static_cast<std::size_t>(PQntuples(result)) == rows && PQnfields(result) == columns;
    for (int column = 0; fits && column < columns; ++column) {
        fits = PQfformat(result, column) == 1;
    }
    if (!fits) {
        refuse();
    }
}

} // namespace

void check_committed(const PGresult *result)
{
    // PQcmdStatus takes what is not const, and changes nothing.
    if (std::string_view(PQcmdStatus(const_cast<PGresult *>(result))) != "COMMIT") {
        refuse();
    }
}

Result decode_result(const PGresult *result)
{
    check_form(result, 1, 7);
    const Row row(result, 0);
    Result decoded;
    decoded.outcome = row.outcome(1);
    decoded.transaction_id = row.uuid(0).value_or("");
    if (is_stored(decoded.outcome) == decoded.transaction_id.empty()) {
        refuse();
    }
    decoded.amount_minor = row.number(2, 8).value_or(0);
    decoded.currency = row.text(3);
    decoded.details = row.jsonb(4);
    decoded.order_ref = row.optional_text(5);
    decoded.created_at = row.timestamp(6).value_or(Timestamp{});
    return decoded;
}

std::vector<BatchResult> decode_batch(const PGresult *result, std::size_t count)
{
    check_form(result, count, 5);
    std::vector<BatchResult> all;
    all.reserve(count);
    for (int i = 0; static_cast<std::size_t>(i) < count; ++i) {
        const Row row(result, i);
        if (row.number(0, 4) != i + 1) {
            refuse();
        }
        BatchResult one{row.outcome(1), row.uuid(2), row.optional_text(3), row.timestamp(4)};
        if (is_stored(one.outcome) != one.transaction_id.has_value()) {
            refuse();
        }
        all.push_back(std::move(one));
    }
    return all;
}

} // namespace idem::client
