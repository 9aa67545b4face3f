#include "refusals.h"

#include "../core/errcodes.h"
#include "boundary.h"
#include "encoding.h"

#include "pg.h"

namespace idem::pg {
namespace {

using core::Error;
namespace sqlstate = core::sqlstate;

bool hidden_by_policies(const Binding &binding)
{
    return backend([&] { return check_enable_rls(binding.table.relation, InvalidOid, true) == RLS_ENABLED; });
}

// A relation's name, for a message.
std::string relation_name(Oid relation)
{
    const char *name = backend([relation] { return get_rel_name(relation); });
    return std::string(to_utf8(name != nullptr ? name : "?"));
}

} // namespace

void refuse_other_request(const std::string &detail)
{
    throw Error(sqlstate::kKeyReused, "idempotency key was already used with other parameters", detail,
                "Use a new key for a new request, and the same parameters for a retry.");
}

void refuse_changed(const Binding &binding)
{
    if (hidden_by_policies(binding)) {
        throw Error(sqlstate::kInsufficientPrivilege, "row-level security hides the new transaction",
                    "The current role may insert the row, but not see it.");
    }
    throw Error(sqlstate::kNotInState, "a trigger changed the scope or the id of the inserted row",
                "tenant_id, operation, idempotency_key and id must be stored as given.");
}

void refuse_other_key(Oid index)
{
    throw Error(sqlstate::kDataCorrupted, "index " + relation_name(index) + " returned a row of another key", {},
                "Check the index with amcheck, and REINDEX it.");
}

void refuse_unseen(const Binding &binding)
{
    if (hidden_by_policies(binding)) {
        throw Error(sqlstate::kInsufficientPrivilege, "row-level security hides the stored transaction of this key",
                    "The key is taken by a row that the current role may not see.");
    }
    if (backend([&] { return has_row_triggers(binding.table); })) {
        throw Error(sqlstate::kNotInState, "the row was not stored, and no row stands in its way",
                    "A BEFORE INSERT trigger on table " + relation_name(binding.table.relation) +
                        " suppressed it, or index " + relation_name(binding.table.scope_index) + " is damaged.");
    }
    refuse_deleted();
}

void refuse_deleted()
{
    throw Error(sqlstate::kSerializationFailure,
                "could not serialize access: the stored transaction was deleted concurrently", {},
                "Retry the whole transaction with the same key.");
}

} // namespace idem::pg
