#include "boundary.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "pg.h"

namespace idem::pg {
namespace {

// Copy a UTF-8 text into a fixed buffer; what does not fit is cut at a character border.
template <size_t Size>
void copy_text(char (&buffer)[Size], std::string_view text) noexcept
{
    size_t length = std::min(text.size(), Size - 1);
    while (length < text.size() && length > 0 && (static_cast<unsigned char>(text[length]) & 0xC0) == 0x80) {
        --length;
    }
    std::memcpy(buffer, text.data(), length);
    buffer[length] = '\0';
}

// The text in the database encoding.
const char *in_server_encoding(const char *utf8)
{
    return pg_any_to_server(utf8, static_cast<int>(std::strlen(utf8)), PG_UTF8);
}

} // namespace

void Report::set(const core::Error &error) noexcept
{
    copy_text(sqlstate_, error.sqlstate());
    copy_text(message_, error.message());
    copy_text(detail_, error.detail());
    copy_text(hint_, error.hint());
}

void Report::set(const char *sqlstate, const char *message) noexcept
{
    copy_text(sqlstate_, sqlstate);
    copy_text(message_, message);
}

void Report::raise()
{
    if (backend_ != nullptr) {
        ReThrowError(backend_);
    }
    ereport(ERROR, (errcode(MAKE_SQLSTATE(sqlstate_[0], sqlstate_[1], sqlstate_[2], sqlstate_[3], sqlstate_[4])),
                    errmsg_internal("%s", in_server_encoding(message_)),
                    detail_[0] != '\0' ? errdetail_internal("%s", in_server_encoding(detail_)) : 0,
                    hint_[0] != '\0' ? errhint("%s", in_server_encoding(hint_)) : 0));
}

} // namespace idem::pg
