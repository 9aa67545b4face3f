#include "encoding.h"

#include "boundary.h"

#include <cstring>

#include "pg.h"

namespace idem::pg {

std::string_view text_octets(Datum value)
{
    const text *detoasted = DatumGetTextPP(value);
    return {VARDATA_ANY(detoasted), VARSIZE_ANY_EXHDR(detoasted)};
}

std::string_view to_utf8(std::string_view text)
{
    if (GetDatabaseEncoding() == PG_UTF8) {
        return text;
    }
    return backend([text]() -> std::string_view {
        char *utf8 = pg_server_to_any(text.data(), static_cast<int>(text.size()), PG_UTF8);
        return {utf8, utf8 == text.data() ? text.size() : std::strlen(utf8)};
    });
}

} // namespace idem::pg
