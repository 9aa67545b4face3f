#include "../core/canonical.h"
#include "arguments.h"
#include "boundary.h"
#include "jsonb_value.h"

#include <cstring>

#include "pg.h"

extern "C" {
#pragma GCC visibility push(default)
PG_FUNCTION_INFO_V1(idem_canonical);
PG_FUNCTION_INFO_V1(idem_fingerprint);
#pragma GCC visibility pop
}

namespace idem::pg {
namespace {

Datum canonical(FunctionCallInfo fcinfo)
{
    Jsonb *document = backend([fcinfo] { return PG_GETARG_JSONB_P(0); });
    std::string utf8;
    core::append_canonical(utf8, JsonbValue(document));
    return backend([&utf8] {
        const char *converted = pg_any_to_server(utf8.data(), static_cast<int>(utf8.size()), PG_UTF8);
        const size_t length = converted == utf8.data() ? utf8.size() : std::strlen(converted);
        return PointerGetDatum(cstring_to_text_with_len(converted, static_cast<int>(length)));
    });
}

Datum fingerprint(FunctionCallInfo fcinfo)
{
    const Request request = request_arguments(fcinfo, {0, 1, 2, 3, 4});
    request.check_not_null();
    request.check();
    const core::Sha256 hash = request.fingerprint();
    return backend([&hash] { return bytea_datum(hash); });
}

} // namespace
} // namespace idem::pg

// The canonical form of a document, version 1.
Datum idem_canonical(PG_FUNCTION_ARGS)
{
    return idem::pg::entry<idem::pg::canonical>(fcinfo);
}

// The fingerprint of a request, version 1.
Datum idem_fingerprint(PG_FUNCTION_ARGS)
{
    return idem::pg::entry<idem::pg::fingerprint>(fcinfo);
}
