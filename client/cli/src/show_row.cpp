#include "show_row.hpp"

#include "json_text.hpp"

#include <algorithm>
#include <iomanip>
#include <ostream>
#include <sstream>

namespace idem::cli {

std::string to_text(client::Timestamp moment)
{
    // As the server writes them, and `idem show`.
    if (moment == client::Timestamp::max() || moment == client::Timestamp::min()) {
        return moment == client::Timestamp::max() ? "infinity" : "-infinity";
    }
    using namespace std::chrono; // NOLINT(google-build-using-namespace): its names are the subject here
    const auto day = floor<days>(moment);
    const year_month_day date(day);
    const hh_mm_ss time(moment - day);
    std::ostringstream text;
    text << std::setfill('0') << std::setw(4) << static_cast<int>(date.year()) << '-' << std::setw(2)
         << static_cast<unsigned>(date.month()) << '-' << std::setw(2) << static_cast<unsigned>(date.day()) << 'T'
         << std::setw(2) << time.hours().count() << ':' << std::setw(2) << time.minutes().count() << ':' << std::setw(2)
         << time.seconds().count() << '.' << std::setw(6) << time.subseconds().count() << 'Z';
    return text.str();
}

std::vector<Cell> cells_of(const client::Request &request, const client::Result &result)
{
    const bool stored = !result.transaction_id.empty();
    const auto where_stored = [stored](std::string value) {
        return stored ? std::optional(std::move(value)) : std::nullopt;
    };
    return {
        {"outcome", client::to_string(result.outcome)},
        {"transaction_id", where_stored(result.transaction_id)},
        {"tenant_id", request.tenant_id},
        {"operation", request.operation},
        {"idempotency_key", request.key.text()},
        {"amount_minor", where_stored(std::to_string(result.amount_minor)), Cell::Kind::number},
        {"currency", where_stored(result.currency)},
        {"details", where_stored(result.details), Cell::Kind::json},
        {"order_ref", result.order_ref},
        {"created_at", where_stored(to_text(result.created_at))},
    };
}

void print_cells(std::ostream &out, const std::vector<Cell> &cells)
{
    std::size_t width = 0;
    for (const Cell &cell : cells) {
        width = std::max(width, cell.name.size());
    }
    for (const Cell &cell : cells) {
        out << cell.name;
        if (cell.value) {
            out << std::string(width + 2 - cell.name.size(), ' ') << printable(*cell.value);
        }
        out << '\n';
    }
}

void print_cells_json(std::ostream &out, const std::vector<Cell> &cells)
{
    JsonObject object;
    for (const Cell &cell : cells) {
        if (cell.value && cell.kind != Cell::Kind::text) {
            object.raw(cell.name, *cell.value);
        } else {
            object.text_or_null(cell.name, cell.value);
        }
    }
    out << object.str() << '\n';
}

} // namespace idem::cli
