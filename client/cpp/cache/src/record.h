#pragma once

#include <idem/request.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace idem::cache {

/// The name under which the results of a scope are kept: `idem:{tenant:operation:key}`, or, with the name of a ledger,
/// `idem:LEDGER:{tenant:operation:key}`. In each part `%`, `:`, `{` and `}` are written as `%25`, `%3A`, `%7B` and
/// `%7D`: different scopes have different names, and Redis Cluster places a name by all three parts.
std::string record_name(const client::Request &request, std::string_view ledger);

/// Writes the result of a request as a record, which holds a digest of every octet of the request, and one of itself.
/// Nothing, where it is not a result that such a request can have.
std::optional<std::string> write_record(const client::Request &request, std::string_view ledger,
                                        const client::Result &result);

/// Reads the result, with the outcome replayed; nothing, unless the record is octet by octet one that write_record()
/// writes for this request.
std::optional<client::Result> read_record(const client::Request &request, std::string_view ledger,
                                          std::string_view record);

} // namespace idem::cache
