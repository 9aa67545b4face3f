#include <idem/retry.hpp>

#include <algorithm>
#include <array>

namespace idem::client {
namespace {

struct Row {
    std::string_view sqlstate;
    Action action;
};

constexpr std::array kTable{
    Row{"40001", Action::repeat},    // serialization_failure
    Row{"40P01", Action::repeat},    // deadlock_detected
    Row{"08000", Action::unknown},   // connection_exception
    Row{"08003", Action::unknown},   // connection_does_not_exist
    Row{"08006", Action::unknown},   // connection_failure
    Row{"08007", Action::unknown},   // transaction_resolution_unknown
    Row{"57P01", Action::unknown},   // admin_shutdown
    Row{"57P02", Action::unknown},   // crash_shutdown
    Row{"57P05", Action::unknown},   // idle_session_timeout
    Row{"08001", Action::reconnect}, // sqlclient_unable_to_establish_sqlconnection
    Row{"08004", Action::reconnect}, // sqlserver_rejected_establishment_of_sqlconnection
    Row{"25006", Action::reconnect}, // read_only_sql_transaction
    Row{"57P03", Action::reconnect}, // cannot_connect_now
    Row{"53300", Action::reconnect}, // too_many_connections
    Row{"55P03", Action::ask},       // lock_not_available
    Row{"57014", Action::ask},       // query_canceled
    Row{"ID002", Action::ask},       // another transaction is processing the key
};

} // namespace

Action action_after(std::string_view sqlstate) noexcept
{
    const auto *row = std::find_if(kTable.begin(), kTable.end(),
                                   [&](const Row &candidate) { return candidate.sqlstate == sqlstate; });
    return row == kTable.end() ? Action::never : row->action;
}

} // namespace idem::client
