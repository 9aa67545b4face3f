#include "row_members.h"

#include "../core/errcodes.h"
#include "../core/error.h"
#include "../core/escape.h"
#include "boundary.h"
#include "encoding.h"

#include <algorithm>
#include <map>

#include "pg.h"

namespace idem::pg {
namespace {

using core::JsonKind;

constexpr size_t kNameInMessage = 160; // octets

using Attributes = std::map<std::string, Oid, std::less<>>;

// The attributes of a composite type, by their names in UTF-8.
Attributes attributes_of(Oid type)
{
    TupleDesc descriptor = backend([type] { return lookup_rowtype_tupdesc_copy(type, -1); });
    Attributes attributes;
    for (int place = 0; place < descriptor->natts; ++place) {
        const FormData_pg_attribute *attribute = TupleDescAttr(descriptor, place);
        if (!attribute->attisdropped) {
            attributes.emplace(to_utf8(NameStr(attribute->attname)), attribute->atttypid);
        }
    }
    return attributes;
}

void check_elements(const JsonbValue &array, Oid type, Oid element)
{
    for (size_t index = 0; index < array.size(); ++index) {
        const JsonbValue value = array.child(index);
        check_members(value,
                      value.kind() == JsonKind::array ? type : element); // a further dimension is of the same type
    }
}

void check_object(const JsonbValue &object, Oid type)
{
    const Attributes attributes = attributes_of(type);
    for (size_t index = 0; index < object.size(); ++index) {
        const auto attribute = attributes.find(object.name(index));
        if (attribute == attributes.end()) {
            const char *name = backend([type] { return format_type_be(type); });
            refuse_member(object.name(index), "type " + std::string(to_utf8(name)));
        }
        check_members(object.child(index), attribute->second);
    }
}

} // namespace

void refuse_member(std::string_view name, const std::string &owner)
{
    std::string quoted;
    size_t end = std::min(name.size(), kNameInMessage);
    while (end < name.size() && (static_cast<unsigned char>(name[end]) & 0xC0) == 0x80) {
        --end; // not in the middle of a character
    }
    core::append_escaped(quoted, name.substr(0, end), core::Escape::unprintable);
    throw core::Error(core::sqlstate::kUndefinedColumn, "column " + quoted + " of " + owner + " does not exist", {},
                      "Each member of the row must be a column of the table.");
}

void check_members(const JsonbValue &value, Oid type)
{
    struct Shape {
        Oid base;
        Oid element;
        bool is_row;
    };
    const JsonKind kind = value.kind();
    if (kind != JsonKind::array && kind != JsonKind::object) {
        return;
    }
    const Shape shape = backend([type] {
        const Oid base = getBaseType(type);
        return Shape{base, get_element_type(base), type_is_rowtype(base)};
    });
    if (OidIsValid(shape.element) && kind == JsonKind::array) {
        check_elements(value, type, shape.element);
    } else if (shape.is_row && kind == JsonKind::object) {
        check_object(value, shape.base);
    }
}

} // namespace idem::pg
