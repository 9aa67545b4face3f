#include "arguments.h"

#include "../core/fingerprint.h"
#include "boundary.h"
#include "encoding.h"
#include "jsonb_value.h"

#include <cstring>

#include "pg.h"

namespace idem::pg {

Jsonb *empty_object()
{
    auto *document = static_cast<Jsonb *>(palloc0(sizeof(Jsonb)));
    SET_VARSIZE(document, sizeof(Jsonb));
    document->root.header = JB_FOBJECT;
    return document;
}

void TextArgument::check_not_null(const char *argument) const
{
    if (null) {
        core::refuse_null(argument);
    }
}

void TextArgument::check(const core::TextRule &rule) const
{
    // Too long is said first, so that a huge value is not converted.
    core::check_length(rule, octets.size());
    core::check_characters(rule, to_utf8(octets));
}

void Call::check() const
{
    tenant_id.check_not_null("tenant_id");
    idempotency_key.check_not_null("idempotency_key");
    request.check_not_null();
    tenant_id.check(core::kTenantRule);
    idempotency_key.check(core::kKeyRule);
    request.check();
}

TextArgument text_argument(FunctionCallInfo fcinfo, int index)
{
    if (PG_ARGISNULL(index)) {
        return {true, Datum{}, {}};
    }
    text *value = backend([&] { return PG_GETARG_TEXT_PP(index); });
    return {false, PointerGetDatum(value), {VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value)}};
}

std::vector<std::string> text_list(ArrayType *array)
{
    struct Elements {
        Datum *values;
        int count;
    };
    if (array_contains_nulls(array)) {
        core::refuse_null("a path in exclude");
    }
    const Elements elements = backend([array] {
        Elements found{};
        deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &found.values, nullptr, &found.count);
        return found;
    });
    std::vector<std::string> list;
    list.reserve(static_cast<size_t>(elements.count));
    for (int i = 0; i < elements.count; ++i) {
        list.emplace_back(to_utf8(backend([&] { return text_octets(elements.values[i]); })));
    }
    return list;
}

Request request_arguments(FunctionCallInfo fcinfo, const RequestPlaces &places)
{
    Request request;
    request.amount_null = PG_ARGISNULL(places.amount_minor);
    request.amount_minor = request.amount_null ? 0 : PG_GETARG_INT64(places.amount_minor);
    request.currency = text_argument(fcinfo, places.currency);
    request.details =
        backend([&] { return PG_ARGISNULL(places.details) ? empty_object() : PG_GETARG_JSONB_P(places.details); });
    request.operation = text_argument(fcinfo, places.operation);
    request.order_ref = text_argument(fcinfo, places.order_ref);
    return request;
}

void Request::check_not_null() const
{
    if (amount_null) {
        core::refuse_null("amount_minor");
    }
    currency.check_not_null("currency");
    operation.check_not_null("operation");
}

void Request::check() const
{
    core::check_amount(amount_minor);
    core::check_currency(currency.octets);
    core::check_details(JB_ROOT_IS_OBJECT(details));
    operation.check(core::kOperationRule);
    if (!order_ref.null) {
        order_ref.check(core::kOrderRefRule);
    }
}

core::Sha256 Request::fingerprint() const
{
    core::RequestFields fields{amount_minor, currency.octets, to_utf8(operation.octets), {}};
    if (!order_ref.null) {
        fields.order_ref = to_utf8(order_ref.octets);
    }
    return core::fingerprint(fields, JsonbValue(details));
}

Datum bytea_datum(std::string_view octets)
{
    return PointerGetDatum(cstring_to_text_with_len(octets.data(), static_cast<int>(octets.size())));
}

} // namespace idem::pg
