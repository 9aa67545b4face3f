#pragma once

#include "record.hpp"

#include <optional>
#include <string>

namespace idem::fuzz {

/// A request or a refusal, in a form that can be compared: the fields, or `fate sqlstate`.
std::string summary(const cli::RequestOrRefusal &content);

/// The summary of a JSON line, by RFC 8259 and the rules for requests; nothing where the line is too deep for
/// slow_json.
std::optional<std::string> slow_record(const std::string &line);

} // namespace idem::fuzz
