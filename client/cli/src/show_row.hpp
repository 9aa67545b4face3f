#pragma once

#include <idem/request.hpp>

#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

namespace idem::cli {

/// A moment in ISO 8601, UTC, with microseconds: 2026-01-31T09:30:00.000000Z.
[[nodiscard]] std::string to_text(client::Timestamp moment);

/// A value of a row, and how JSON writes it.
struct Cell {
    enum class Kind { text, number, json };

    std::string name;
    std::optional<std::string> value;
    Kind kind = Kind::text;
};

/// The row that a call returned, for the request that was sent.
[[nodiscard]] std::vector<Cell> cells_of(const client::Request &request, const client::Result &result);

/// Prints a row for a reader, one value a line; what is not there is left empty.
void print_cells(std::ostream &out, const std::vector<Cell> &cells);

/// Prints a row as one JSON object on a line.
void print_cells_json(std::ostream &out, const std::vector<Cell> &cells);

} // namespace idem::cli
