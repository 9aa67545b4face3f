#include "jsonb_value.h"

#include "../core/errcodes.h"
#include "boundary.h"
#include "encoding.h"

#include "pg.h"

namespace idem::pg {
namespace {

using core::JsonKind;

// Where the values of a container's entries begin: behind one JEntry for each element, or two for each member.
char *values_of(JsonbContainer *container)
{
    const uint32 count = JsonContainerSize(container);
    return reinterpret_cast<char *>(&container->children[JsonContainerIsObject(container) ? 2 * count : count]);
}

uint16 read_uint16(const unsigned char *octets)
{
    return static_cast<uint16>(octets[0] << 8 | octets[1]);
}

} // namespace

JsonbValue::JsonbValue(Jsonb *document)
{
    JsonbContainer *root = &document->root;
    if (JsonContainerIsScalar(root)) { // stored as an array of one element
        *this = JsonbValue(root, 0);
        return;
    }
    kind_ = JsonContainerIsObject(root) ? JsonKind::object : JsonKind::array;
    container_ = root;
}

JsonbValue::JsonbValue(JsonbContainer *container, uint32 entry)
{
    const JEntry header = container->children[entry];
    char *value = values_of(container) + getJsonbOffset(container, static_cast<int>(entry));
    char *aligned = reinterpret_cast<char *>(INTALIGN(value));
    if (JBE_ISSTRING(header)) {
        kind_ = JsonKind::string;
        string_ = {value, getJsonbLength(container, static_cast<int>(entry))};
    } else if (JBE_ISNUMERIC(header)) {
        kind_ = JsonKind::number;
        numeric_ = reinterpret_cast<Numeric>(aligned);
    } else if (JBE_ISBOOL(header)) {
        kind_ = JsonKind::boolean;
        boolean_ = JBE_ISBOOL_TRUE(header);
    } else if (JBE_ISCONTAINER(header)) {
        container_ = reinterpret_cast<JsonbContainer *>(aligned);
        kind_ = JsonContainerIsObject(container_) ? JsonKind::object : JsonKind::array;
    }
}

core::Decimal JsonbValue::number() const
{
    // numeric_send is the documented form of a numeric: four int16 (count of digits, weight, sign, scale), then the
    // digits in base 10000, all in network byte order.
    bytea *wire =
        backend([this] { return DatumGetByteaP(DirectFunctionCall1(numeric_send, NumericGetDatum(numeric_))); });
    const auto *octets = reinterpret_cast<const unsigned char *>(VARDATA(wire));
    const uint16 count = read_uint16(octets);
    core::Decimal number;
    number.weight = static_cast<int16>(read_uint16(octets + 2));
    number.negative = read_uint16(octets + 4) != 0; // jsonb holds neither NaN nor an infinity
    number.scale = read_uint16(octets + 6);
    number.digits.resize(count);
    for (size_t i = 0; i < count; ++i) {
        number.digits[i] = read_uint16(octets + 8 + 2 * i);
    }
    backend([wire] { pfree(wire); });
    return number;
}

std::string_view JsonbValue::string() const
{
    return to_utf8(string_);
}

std::string_view JsonbValue::name(size_t index) const
{
    check_interrupts();
    return to_utf8(text(static_cast<uint32>(index)));
}

JsonbValue JsonbValue::child(size_t index) const
{
    check_interrupts();
    if (stack_is_too_deep()) {
        throw core::Error(core::sqlstate::kTooComplex, "the document is nested too deeply",
                          "The nesting exhausts the server's stack.", "Nest less, or raise max_stack_depth.");
    }
    // An object stores its names first, then the values in the same order.
    return {container_, static_cast<uint32>(kind_ == JsonKind::object ? size() + index : index)};
}

std::string_view JsonbValue::text(uint32 entry) const
{
    return {values_of(container_) + getJsonbOffset(container_, static_cast<int>(entry)),
            getJsonbLength(container_, static_cast<int>(entry))};
}

} // namespace idem::pg
