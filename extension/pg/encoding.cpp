#include "encoding.h"

#include "../core/errcodes.h"
#include "boundary.h"

#include <algorithm>
#include <climits>

#include "pg.h"

namespace idem::pg {

std::string_view text_octets(Datum value)
{
    const text *detoasted = DatumGetTextPP(value);
    return {VARDATA_ANY(detoasted), VARSIZE_ANY_EXHDR(detoasted)};
}

std::string_view to_utf8(std::string_view text)
{
    const int encoding = GetDatabaseEncoding();
    const int length = static_cast<int>(text.size());
    if (encoding == PG_UTF8) {
        return text;
    }
    if (encoding == PG_SQL_ASCII) { // anything may be in there
        if (!backend([&] { return pg_verify_mbstr(PG_UTF8, text.data(), length, true); })) {
            throw core::Error(core::sqlstate::kInvalidText, "text is not valid in the encoding UTF8");
        }
        return text;
    }
    struct Converted {
        char *utf8;
        int octets; // of the text, as far as they could be converted
    };
    const Converted converted = backend([&]() -> Converted {
        const Oid conversion = FindDefaultConversionProc(encoding, PG_UTF8);
        if (!OidIsValid(conversion)) { // this tells the error
            return {pg_server_to_any(text.data(), length, PG_UTF8), length};
        }
        const Size size = static_cast<Size>(length) * MAX_CONVERSION_GROWTH + MAX_CONVERSION_GROWTH + 1;
        auto *utf8 = static_cast<unsigned char *>(palloc_extended(size, MCXT_ALLOC_HUGE));
        auto *source = reinterpret_cast<unsigned char *>(const_cast<char *>(text.data()));
        const int octets = pg_do_encoding_conversion_buf(conversion, encoding, PG_UTF8, source, length, utf8,
                                                         static_cast<int>(std::min<Size>(size, INT_MAX)), true);
        return {reinterpret_cast<char *>(utf8), octets};
    });
    if (converted.octets < length) {
        throw core::Error(core::sqlstate::kUntranslatable, "text has a character that Unicode lacks");
    }
    return converted.utf8;
}

} // namespace idem::pg
