#pragma once

#include "../core/request.h"
#include "../core/sha256.h"

#include <string>
#include <string_view>
#include <vector>

#include "pg.h"

namespace idem::pg {

/// A text argument, detoasted.
struct TextArgument {
    bool null;
    Datum value;
    std::string_view octets; // in the database encoding, as stored and compared

    void check_not_null(const char *argument) const;
    void check(const core::TextRule &rule) const;
};

/// The arguments that enter the fingerprint.
struct Request {
    bool amount_null;
    int64 amount_minor;
    TextArgument currency;
    Jsonb *details;
    TextArgument operation;
    TextArgument order_ref;

    /// Raise 22004 for a missing argument.
    void check_not_null() const;
    /// Raise 22023 for a malformed one.
    void check() const;
    /// The fingerprint of the checked request. Raises 54000 and 54001 for details too large or too deep.
    core::Sha256 fingerprint() const;
};

/// A request for the ledger.
struct Call {
    TextArgument tenant_id;
    TextArgument idempotency_key;
    Request request;

    /// Check it in the order that the contract fixes. Raises 22004 and 22023.
    void check() const;
};

TextArgument text_argument(FunctionCallInfo fcinfo, int index);

/// The document {} in the current memory context. Server code.
Jsonb *empty_object();

/// The elements of a text[], in UTF-8; none may be NULL (22004).
std::vector<std::string> text_list(ArrayType *array);

/// Read amount_minor, currency, details, operation and order_ref from the arguments at these places. NULL details count
/// as '{}'.
struct RequestPlaces {
    int amount_minor, currency, details, operation, order_ref;
};
Request request_arguments(FunctionCallInfo fcinfo, const RequestPlaces &places);

/// A bytea in the current memory context. Server code.
Datum bytea_datum(std::string_view octets);
inline Datum bytea_datum(const core::Sha256 &hash)
{
    return bytea_datum({reinterpret_cast<const char *>(hash.data()), hash.size()});
}

} // namespace idem::pg
