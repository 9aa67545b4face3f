#include "batch_arguments.h"

#include "../core/errcodes.h"
#include "boundary.h"
#include "encoding.h"

#include <string>

#include "pg.h"

namespace idem::pg {
namespace {

using core::Error;
namespace sqlstate = core::sqlstate;

constexpr int kMaxRequests = 100'000;

constexpr std::string_view kDefaultOperation = "create-transaction";

enum Argument {
    kTenantsArg,
    kKeysArg,
    kAmountsArg,
    kCurrenciesArg,
    kDetailsArg,
    kOperationsArg,
    kOrderRefsArg,
    kArrays,
    kModeArg = kArrays
};

constexpr const char *kNames[kArrays] = {"tenant_ids", "idempotency_keys", "amounts_minor", "currencies",
                                         "details",    "operations",       "order_refs"};

// An array's elements; of one element, which is everybody's, and of none where the array was left out.
struct Elements {
    bool present;
    int dimensions;
    int count;
    Datum *values;
    bool *nulls;

    int at(int index) const { return count == 1 ? 0 : index; }
};

// Server code.
Elements elements(FunctionCallInfo fcinfo, int index)
{
    Elements found{};
    if (PG_ARGISNULL(index)) {
        return found;
    }
    ArrayType *array = PG_GETARG_ARRAYTYPE_P(index);
    found.present = true;
    found.dimensions = ARR_NDIM(array);
    if (found.dimensions <= 1) {
        int16 length;
        bool by_value;
        char alignment;
        get_typlenbyvalalign(ARR_ELEMTYPE(array), &length, &by_value, &alignment);
        deconstruct_array(array, ARR_ELEMTYPE(array), length, by_value, alignment, &found.values, &found.nulls,
                          &found.count);
    }
    return found;
}

// Server code.
TextArgument text_element(const Elements &list, int index)
{
    if (!list.present || list.nulls[list.at(index)]) {
        return {true, Datum{}, {}};
    }
    const Datum value = list.values[list.at(index)];
    return {false, value, text_octets(value)};
}

// Server code; `empty` is what NULL counts as.
Jsonb *document_element(const Elements &list, int index, Jsonb *empty)
{
    return !list.present || list.nulls[list.at(index)] ? empty : DatumGetJsonbP(list.values[list.at(index)]);
}

void check_lengths(const Elements (&lists)[kArrays])
{
    for (int i = 0; i < kArrays; ++i) {
        if (!lists[i].present && i < kDetailsArg) {
            core::refuse_null(kNames[i]);
        }
    }
    const int count = lists[kKeysArg].count;
    for (int i = 0; i < kArrays; ++i) {
        if (lists[i].dimensions > 1) {
            throw Error(sqlstate::kInvalidParameter, std::string(kNames[i]) + " must have one dimension");
        }
        if (lists[i].present && lists[i].count != count && lists[i].count != 1) {
            throw Error(sqlstate::kInvalidParameter,
                        std::string(kNames[i]) + " must have as many elements as idempotency_keys, or one",
                        "It has " + std::to_string(lists[i].count) + ", and idempotency_keys " + std::to_string(count) +
                            ".");
        }
    }
    if (count > kMaxRequests) {
        throw Error(sqlstate::kLimitExceeded, "too many requests in one batch",
                    "There are " + std::to_string(count) + "; the limit is " + std::to_string(kMaxRequests) + ".",
                    "Split the batch.");
    }
}

BatchMode read_mode(FunctionCallInfo fcinfo)
{
    const TextArgument mode = text_argument(fcinfo, kModeArg);
    mode.check_not_null("mode");
    if (mode.octets != "each" && mode.octets != "all") {
        throw Error(sqlstate::kInvalidParameter, "mode must be each or all");
    }
    return mode.octets == "all" ? BatchMode::all : BatchMode::each;
}

} // namespace

Batch read_batch(FunctionCallInfo fcinfo)
{
    Elements lists[kArrays];
    backend([&] {
        for (int i = 0; i < kArrays; ++i) {
            lists[i] = elements(fcinfo, i);
        }
    });
    check_lengths(lists);
    Batch batch{read_mode(fcinfo), {}};
    batch.entries.resize(static_cast<size_t>(lists[kKeysArg].count));
    backend([&] {
        Jsonb *const empty = empty_object();
        const Datum name =
            PointerGetDatum(cstring_to_text_with_len(kDefaultOperation.data(), kDefaultOperation.size()));
        const TextArgument default_operation{false, name, text_octets(name)};
        int index = 0;
        for (BatchEntry &entry : batch.entries) {
            Call &call = entry.call;
            Request &request = call.request;
            const Elements &amounts = lists[kAmountsArg];
            call.tenant_id = text_element(lists[kTenantsArg], index);
            call.idempotency_key = text_element(lists[kKeysArg], index);
            request.amount_null = amounts.nulls[amounts.at(index)];
            request.amount_minor = request.amount_null ? 0 : DatumGetInt64(amounts.values[amounts.at(index)]);
            request.currency = text_element(lists[kCurrenciesArg], index);
            request.details = document_element(lists[kDetailsArg], index, empty);
            request.operation =
                lists[kOperationsArg].present ? text_element(lists[kOperationsArg], index) : default_operation;
            request.order_ref = text_element(lists[kOrderRefsArg], index);
            ++index;
        }
    });
    return batch;
}

} // namespace idem::pg
