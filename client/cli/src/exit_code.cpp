#include "exit_code.hpp"

#include "json_text.hpp"

#include <string_view>

namespace idem::cli {
namespace {

// Shows a text that may have several lines, as libpq's about several hosts have.
void print_lines(std::ostream &out, const char *title, std::string_view text, const std::string &end = {})
{
    out << title;
    for (std::size_t line_end = text.find('\n'); line_end != std::string_view::npos; line_end = text.find('\n')) {
        out << printable(text.substr(0, line_end)) << "\n    ";
        text.remove_prefix(line_end + 1);
    }
    out << printable(text) << end << '\n';
}

} // namespace

ExitCode exit_code(const client::Error &error) noexcept
{
    const auto *exhausted = dynamic_cast<const client::RetriesExhausted *>(&error);
    if ((exhausted != nullptr && exhausted->in_doubt()) ||
        dynamic_cast<const client::InDoubtError *>(&error) != nullptr) {
        return kInDoubt;
    }
    const std::string_view state = error.sqlstate();
    if (state == "ID001" || state == "ID003") {
        return kConflict;
    }
    if (state == "ID002" || state == "55P03" || state == "57014" || state == "40001" || state == "40P01") {
        return kBusy;
    }
    const std::string_view state_class = state.substr(0, 2);
    // 28 and 3D: the server refuses the user or has no such database.
    if (state_class == "08" || state_class == "28" || state_class == "3D" || state_class == "53" ||
        state.starts_with("57P") || state == "25006") {
        return kConnection;
    }
    if (state_class == "22" || state_class == "23" || state_class == "54") {
        return kInvalid;
    }
    return kFailed;
}

void print_error(std::ostream &out, const client::Error &error)
{
    print_lines(out, "idem: ", error.message(), " (" + error.sqlstate() + ")");
    if (!error.detail().empty()) {
        print_lines(out, "detail: ", error.detail());
    }
    if (!error.hint().empty()) {
        print_lines(out, "hint: ", error.hint());
    }
    out << std::flush;
}

} // namespace idem::cli
