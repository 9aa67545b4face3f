#pragma once

#include <idem/request.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

namespace idem::cli {

/// What becomes of a record of a file: the outcome of its request, or that it could not be made into one.
enum class Fate {
    created,
    replayed,
    valid, ///< Checked without a database.
    conflict,
    order_taken,
    invalid,
    unreadable,
};
constexpr std::size_t kFates = 7;

/// The name of a fate; that of an outcome is the server's.
[[nodiscard]] const char *to_string(Fate fate) noexcept;

/// Why a record was not sent, or was refused by the server. The reason shows no value of the record.
struct Refusal {
    Fate fate = Fate::unreadable;
    std::string sqlstate; ///< Empty where none fits.
    std::string reason;
};

/// The parts of a request as texts, before anything was checked.
struct Fields {
    std::optional<std::string> tenant_id = {};
    std::optional<std::string> idempotency_key = {};
    std::optional<std::string> amount_minor = {};
    std::optional<std::string> currency = {};
    std::optional<std::string> details = {};
    std::optional<std::string> operation = {};
    std::optional<std::string> order_ref = {};
};

/// The field of this name, or nullptr.
[[nodiscard]] std::optional<std::string> *field_named(Fields &fields, std::string_view name) noexcept;

using RequestOrRefusal = std::variant<client::Request, Refusal>;

/// A whole number from digits, with a sign at most before them: exact, nothing else is taken, no blanks and no 1e3.
[[nodiscard]] std::optional<std::int64_t> parse_amount(std::string_view text) noexcept;

/// Makes a request, and checks all that can be checked without the server, that details are JSON among it.
[[nodiscard]] RequestOrRefusal make_request(Fields fields);

/// One record of a file.
struct Record {
    std::uint64_t line = 0; ///< Where it starts: a line of the file, from 1.
    std::size_t octets = 0; ///< Roughly what it takes in memory.
    RequestOrRefusal content;
};

} // namespace idem::cli
