#pragma once

#include "ledger.h"

#include "pg.h"

namespace idem::pg {

/// What a call did, as in the SQL type idem_outcome.
enum class Outcome { created, replayed, conflict, order_taken, invalid, count };

/// What the place in a query that calls an idem function looks up once.
struct CallSite {
    Home home;
    TupleDesc result; // the row type that the function returns
    Oid outcomes[static_cast<int>(Outcome::count)];
};

/// The call site of a function whose result row has so many columns, this one of type idem_outcome. Server code. Raises
/// 55000 where the extension was dropped meanwhile.
const CallSite &call_site(FunctionCallInfo fcinfo, int columns, int outcome_column);

inline Datum outcome_datum(const CallSite &site, Outcome outcome)
{
    return ObjectIdGetDatum(site.outcomes[static_cast<int>(outcome)]);
}

} // namespace idem::pg
