#include "../core/errcodes.h"
#include "../core/exclusion.h"
#include "../core/request.h"
#include "arguments.h"
#include "attachable.h"
#include "boundary.h"
#include "encoding.h"

#include "pg.h"
#include "version.h"

extern "C" {
#pragma GCC visibility push(default)
PG_FUNCTION_INFO_V1(idem_attach);
PG_FUNCTION_INFO_V1(idem_detach);
#pragma GCC visibility pop
}

namespace idem::pg {
namespace {

enum Argument { kTarget, kTenant, kOperation, kKey, kHash, kId, kFixedOperation, kExclude };

// The values of a new row of the registry, as the statement's parameters; the trigger finds the rest.
constexpr int kParameters = 9;

void check_owner(Oid target)
{
    if (!owns_table(GetUserId(), target)) {
        aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_TABLE, get_rel_name(target));
    }
}

// The number of the column that an argument names; 0 where it names none.
AttrNumber column_argument(FunctionCallInfo fcinfo, Oid target, int argument)
{
    if (PG_ARGISNULL(argument)) {
        return InvalidAttrNumber;
    }
    const char *name = NameStr(*PG_GETARG_NAME(argument));
    const AttrNumber number = get_attnum(target, name);
    if (number <= 0) {
        ereport(ERROR, (errcode(ERRCODE_UNDEFINED_COLUMN),
                        errmsg("column \"%s\" of table \"%s\" does not exist", name, get_rel_name(target)),
                        errhint("Name the table's own columns in the arguments of idem_attach().")));
    }
    return number;
}

// Write to the registry as its owner: it is not for everybody to write to, and who may attach was checked.
void write_registry(const Home &home, const char *command, Oid *types, Datum *values, const char *nulls, int count)
{
    Oid user;
    int context;
    GetUserIdAndSecContext(&user, &context);
    SetUserIdAndSecContext(home.owner, context | SECURITY_LOCAL_USERID_CHANGE);
    const char *name = quote_qualified_identifier(get_namespace_name(home.schema), kRegistryName);
    const int code = SPI_execute_with_args(psprintf(command, name), count, types, values, nulls, false, 0);
    if (code < 0) {
        elog(ERROR, "could not write to the registry: %s", SPI_result_code_string(code));
    }
    SetUserIdAndSecContext(user, context);
}

// Make sure that the arguments describe a table that can serve, which stays locked.
void check_arguments(FunctionCallInfo fcinfo, const Home &home)
{
    PreventCommandIfReadOnly("idem_attach()");
    const Oid target = PG_GETARG_OID(kTarget);
    check_kind(target);
    check_owner(target);
    LockRelationOid(target, ShareUpdateExclusiveLock); // no other DDL, and no other idem_attach(), until this is done
    check_kind(target);
    if (get_relname_relid(kLedgerName, home.schema) == target) {
        ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE), errmsg("the ledger cannot be attached"),
                        errhint("Use idem_create_transaction() with it.")));
    }
    Registration registration{};
    registration.tenant = column_argument(fcinfo, target, kTenant);
    registration.key = column_argument(fcinfo, target, kKey);
    registration.hash = column_argument(fcinfo, target, kHash);
    registration.id = column_argument(fcinfo, target, kId);
    if (PG_ARGISNULL(kFixedOperation)) {
        registration.operation = column_argument(fcinfo, target, kOperation);
    } else {
        registration.fixed_operation = PG_GETARG_TEXT_PP(kFixedOperation);
    }
    Relation table = relation_open(target, NoLock);
    check_attachable(table, registration);
    relation_close(table, NoLock);
}

void write_registration(FunctionCallInfo fcinfo, const Home &home, const std::string &exclusions)
{
    const Oid target = PG_GETARG_OID(kTarget);
    Relation table = relation_open(target, NoLock);
    Oid types[kParameters] = {OIDOID, TEXTOID, NAMEOID, NAMEOID, TEXTOID, NAMEOID, NAMEOID, NAMEOID, TEXTOID};
    Datum values[kParameters] = {
        ObjectIdGetDatum(target),
        CStringGetTextDatum(qualified_name(table)),
        PG_GETARG_DATUM(kTenant),
        PG_GETARG_DATUM(kOperation),
        PG_GETARG_DATUM(kFixedOperation),
        PG_GETARG_DATUM(kKey),
        PG_GETARG_DATUM(kHash),
        PG_GETARG_DATUM(kId),
        CStringGetTextDatum(pg_any_to_server(exclusions.c_str(), static_cast<int>(exclusions.size()), PG_UTF8))};
    relation_close(table, NoLock);
    char nulls[kParameters + 1] = "         ";
    nulls[3] = PG_ARGISNULL(kFixedOperation) ? ' ' : 'n';
    nulls[4] = PG_ARGISNULL(kFixedOperation) ? 'n' : ' ';
    nulls[7] = PG_ARGISNULL(kId) ? 'n' : ' ';
    write_registry(home, "DELETE FROM %s WHERE target OPERATOR(pg_catalog.=) $1", types, values, nulls, 1);
    write_registry(
        home,
        "INSERT INTO %s (target, target_name, tenant_column, operation_column, fixed_operation, key_column,"
        " hash_column, id_column, exclude, tenant_number, operation_number, key_number, hash_number, id_number)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, pg_catalog.string_to_array($9, pg_catalog.chr(10)), 0, 0, 0, 0, 0)",
        types, values, nulls, kParameters);
}

// The paths to exclude; NULL counts as none.
core::Exclusions exclusions_argument(FunctionCallInfo fcinfo)
{
    if (PG_ARGISNULL(kExclude)) {
        return {};
    }
    return core::Exclusions(text_list(backend([fcinfo] { return PG_GETARG_ARRAYTYPE_P(kExclude); })));
}

Datum attach(FunctionCallInfo fcinfo)
{
    constexpr struct {
        int place;
        const char *name;
    } kRequired[] = {{kTarget, "target"}, {kTenant, "tenant_column"}, {kKey, "key_column"}, {kHash, "hash_column"}};
    for (const auto &argument : kRequired) {
        if (PG_ARGISNULL(argument.place)) {
            core::refuse_null(argument.name);
        }
    }
    if (!PG_ARGISNULL(kFixedOperation)) {
        text_argument(fcinfo, kFixedOperation).check({"fixed_operation", core::kOperationRule.max_octets});
    } else if (PG_ARGISNULL(kOperation)) {
        throw core::Error(core::sqlstate::kNullValue, "operation_column and fixed_operation must not both be null");
    }
    const core::Exclusions exclusions = exclusions_argument(fcinfo);
    const std::string &text = exclusions.text();
    backend([fcinfo, &text] {
        const Home home = home_of(fcinfo->flinfo->fn_oid);
        SPI_connect();
        check_arguments(fcinfo, home);
        write_registration(fcinfo, home, text);
        SPI_finish();
    });
    PG_RETURN_VOID();
}

Datum detach(FunctionCallInfo fcinfo)
{
    if (PG_ARGISNULL(kTarget)) {
        core::refuse_null("target");
    }
    backend([fcinfo] {
        PreventCommandIfReadOnly("idem_detach()");
        const Home home = home_of(fcinfo->flinfo->fn_oid);
        Oid types[] = {OIDOID};
        Datum values[] = {PG_GETARG_DATUM(kTarget)};
        check_kind(PG_GETARG_OID(kTarget));
        check_owner(PG_GETARG_OID(kTarget));
        LockRelationOid(PG_GETARG_OID(kTarget), ShareUpdateExclusiveLock);
        SPI_connect();
        write_registry(home, "DELETE FROM %s WHERE target OPERATOR(pg_catalog.=) $1", types, values, " ", 1);
        if (SPI_processed == 0) {
            ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                            errmsg("table \"%s\" is not attached", get_rel_name(PG_GETARG_OID(kTarget)))));
        }
        SPI_finish();
    });
    PG_RETURN_VOID();
}

} // namespace
} // namespace idem::pg

// Let idem_insert() write into a table of the user's.
Datum idem_attach(PG_FUNCTION_ARGS)
{
    return idem::pg::entry<idem::pg::attach>(fcinfo);
}

// Undo idem_attach().
Datum idem_detach(PG_FUNCTION_ARGS)
{
    return idem::pg::entry<idem::pg::detach>(fcinfo);
}
