#include "row_json.h"

#include "pg.h"

namespace idem::pg {

void set_up_function(FmgrInfo *function, Oid oid, Oid result, Oid argument, MemoryContext memory)
{
    MemoryContext caller = MemoryContextSwitchTo(memory);
    fmgr_info_cxt(oid, function, memory);
    Const *value = makeNullConst(argument, -1, InvalidOid);
    fmgr_info_set_expr(reinterpret_cast<Node *>(
                           makeFuncExpr(oid, result, list_make1(value), InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL)),
                       function);
    MemoryContextSwitchTo(caller);
}

RowJson::Kind RowJson::kind_of(const FormData_pg_attribute *column)
{
    if (column->attisdropped) {
        return Kind::dropped;
    }
    switch (column->atttypid) {
    case BOOLOID:
        return Kind::boolean;
    case INT2OID:
        return Kind::integer2;
    case INT4OID:
        return Kind::integer4;
    case INT8OID:
        return Kind::integer8;
    case TEXTOID:
    case VARCHAROID:
        return Kind::text;
    case UUIDOID:
    case BYTEAOID:
    case BPCHAROID:
        return Kind::printed;
    case DATEOID:
    case TIMESTAMPOID:
    case TIMESTAMPTZOID:
        return Kind::time;
    case JSONBOID:
        return Kind::jsonb;
    default:
        return Kind::other;
    }
}

void RowJson::set_up(TupleDesc columns, MemoryContext memory)
{
    columns_ = columns;
    shapes_ = static_cast<Column *>(MemoryContextAllocZero(memory, (columns->natts + 1) * sizeof(Column)));
    for (int place = 0; place < columns->natts; ++place) {
        const FormData_pg_attribute *column = TupleDescAttr(columns, place);
        Column &shape = shapes_[place];
        shape.kind = kind_of(column);
        shape.type = column->atttypid;
        if (shape.kind == Kind::printed) {
            Oid function;
            bool varlena;
            getTypeOutputInfo(shape.type, &function, &varlena);
            fmgr_info_cxt(function, &shape.output, memory);
        }
        if (shape.kind != Kind::dropped) {
            set_up_function(&shape.to_json, F_TO_JSONB, JSONBOID, shape.type, memory);
        }
    }
}

void RowJson::fill(Column &column, Datum datum, ::JsonbValue &value)
{
    const auto integer = [&value](int64 number) {
        value.type = jbvNumeric;
        value.val.numeric = int64_to_numeric(number);
    };
    // False for what is too long for jsonb; to_jsonb() says so then.
    const auto string = [&value](char *octets, size_t length) {
        value.type = jbvString;
        value.val.string.val = octets;
        value.val.string.len = static_cast<int>(length);
        return length <= JENTRY_OFFLENMASK;
    };
    switch (column.kind) {
    case Kind::boolean:
        value.type = jbvBool;
        value.val.boolean = DatumGetBool(datum);
        return;
    case Kind::integer2:
        return integer(DatumGetInt16(datum));
    case Kind::integer4:
        return integer(DatumGetInt32(datum));
    case Kind::integer8:
        return integer(DatumGetInt64(datum));
    case Kind::text: {
        text *octets = DatumGetTextPP(datum);
        if (string(VARDATA_ANY(octets), VARSIZE_ANY_EXHDR(octets))) {
            return;
        }
        break;
    }
    case Kind::printed: {
        char *octets = OutputFunctionCall(&column.output, datum);
        if (string(octets, strlen(octets))) {
            return;
        }
        break;
    }
    case Kind::time: {
        char *octets = JsonEncodeDateTime(static_cast<char *>(palloc(MAXDATELEN + 1)), datum, column.type, nullptr);
        string(octets, strlen(octets));
        return;
    }
    default:
        break;
    }
    Jsonb *document = DatumGetJsonbP(column.kind == Kind::jsonb ? datum : FunctionCall1(&column.to_json, datum));
    if (JB_ROOT_IS_SCALAR(document)) {
        JsonbExtractScalar(&document->root, &value);
    } else {
        value.type = jbvBinary;
        value.val.binary.data = &document->root;
        value.val.binary.len = static_cast<int>(VARSIZE(document) - VARHDRSZ);
    }
}

Jsonb *RowJson::make(const Datum *values, const bool *nulls)
{
    JsonbParseState *state = nullptr;
    pushJsonbValue(&state, WJB_BEGIN_OBJECT, nullptr);
    for (int place = 0; place < columns_->natts; ++place) {
        if (shapes_[place].kind == Kind::dropped) {
            continue;
        }
        NameData &name = TupleDescAttr(columns_, place)->attname;
        ::JsonbValue value;
        value.type = jbvString;
        value.val.string.val = NameStr(name);
        value.val.string.len = static_cast<int>(strlen(NameStr(name)));
        pushJsonbValue(&state, WJB_KEY, &value);
        value.type = jbvNull;
        if (!nulls[place]) {
            fill(shapes_[place], values[place], value);
        }
        pushJsonbValue(&state, WJB_VALUE, &value);
    }
    return JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, nullptr));
}

} // namespace idem::pg
