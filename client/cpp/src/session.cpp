#include "session.h"

#include "decode.h"
#include "raise.h"
#include "server_error.h"

#include <array>
#include <poll.h>
#include <string_view>
#include <sys/socket.h>
#include <utility>

namespace idem::client {
namespace {

// Long enough for a server that answers; a connection that is given up is closed, which rolls back as well.
constexpr std::chrono::milliseconds kRollbackTime(500);

constexpr std::chrono::milliseconds kJustUsed(1);

std::string_view text_of(const PGresult *notice, int field)
{
    const char *text = PQresultErrorField(notice, field);
    return text != nullptr ? text : "";
}

} // namespace

Session::Session(Pool &home, ConnectionPtr connection, std::uint64_t age)
    : home_(&home), connection_(std::move(connection)), age_(age),
      instance_(std::string(PQhost(native())) + ":" + PQport(native()))
{
    watch();
    if (PQregisterEventProc(native(), &Session::on_event, "idem", this) == 0) {
        raise({"08001", "libpq is out of memory"});
    }
}

Session::~Session() = default;

// libpq tells of every result, also of those that the application gets from it without this library.
int Session::on_event(PGEventId event, void *information, void *session)
{
    // Results may outlive the session: only with these two events does it surely live.
    if (event == PGEVT_RESULTCREATE) {
        static_cast<Session *>(session)->see(PQcmdStatus(static_cast<PGEventResultCreate *>(information)->result));
    } else if (event == PGEVT_CONNRESET) {
        static_cast<Session *>(session)->ended_ = true;
    }
    return 1;
}

// The tag of ROLLBACK is that of ROLLBACK TO SAVEPOINT, too. Without a savepoint it is the former, and with one it was
// the former where BEGIN follows.
void Session::see(std::string_view tag) noexcept
{
    if (tag == "COMMIT" || tag == "PREPARE TRANSACTION") {
        ended_ = true;
    } else if (tag == "SAVEPOINT") {
        has_savepoint_ = true;
    } else if (tag == "ROLLBACK") {
        ended_ = ended_ || !has_savepoint_;
        has_rolled_back_ = true;
    } else if (tag == "BEGIN" || tag == "START TRANSACTION") {
        ended_ = ended_ || has_rolled_back_;
    }
}

// Notices may carry what no result does. Not only once: the application may have put in a receiver of its own, which
// may be gone when its transaction has ended.
void Session::watch()
{
    PQsetNoticeReceiver(native(), &Session::on_notice, this);
}

void Session::on_notice(void *session, const PGresult *notice)
{
    auto *self = static_cast<Session *>(session);
    // The server commits, and then warns that the wait was cut short. The name of its function is not translated.
    if (text_of(notice, PG_DIAG_SOURCE_FUNCTION) == "SyncRepWaitForLSN") {
        self->wait_cancelled_ = true;
    }
    const std::string_view severity = text_of(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
    if (severity == "ERROR" || severity == "FATAL" || severity == "PANIC") {
        self->dying_ = true;
    }
}

void Session::use_until(Deadline deadline)
{
    deadline_ = deadline;
    commit_sent_ = false;
    unread_ = false;
    wait_cancelled_ = false;
    ended_ = false;
    has_savepoint_ = false;
    has_rolled_back_ = false;
}

void Session::use_each(std::chrono::milliseconds time)
{
    use_until(Deadline::never());
    deadline_.reset();
    each_ = time;
}

Wire Session::wire()
{
    return {native(), deadline_ ? *deadline_ : Deadline::after(each_), &cancel_sent_};
}

void Session::judge_wait() const
{
    if (wait_cancelled_) {
        raise({"08007", "the wait for synchronous standbys was cancelled",
               "The transaction is committed on the server, and may be lost with it."});
    }
}

// From here on, an end that is not known may have been a commit. What is sent to a connection that is known to be lost
// never arrives.
void Session::expect_commit()
{
    if (lost()) {
        raise({"08006", "connection lost"});
    }
    watch();
    commit_sent_ = true;
}

void Session::commit()
{
    // Outside of a transaction the server would only warn, and answer COMMIT all the same.
    if (ended_ || PQtransactionStatus(native()) == PQTRANS_IDLE) {
        raise({"25P01", "the transaction has ended"});
    }
    committing(&client::commit, [](const PGresult *answer) {
        check_committed(answer);
        return true;
    });
}

void Session::wait_for_standbys()
{
    // A failure inside must not abort the transaction.
    const std::array<Statement, 2> attempt{
        {{"SAVEPOINT idem_wait"}, {"SELECT pg_catalog.pg_logical_emit_message(true, 'idem', '')"}}};
    Wire wire = this->wire();
    const std::vector<ResultPtr> results = wire.run_together(attempt);
    if (const PGresult *failed = first_failure(results)) {
        const Failure failure = failure_of(native(), failed);
        if (failure.sqlstate != "42501") { // insufficient_privilege
            raise(failure);
        }
        wire.run({"ROLLBACK TO SAVEPOINT idem_wait"});
    }
}

void Session::roll_back() noexcept
{
    if (!in_transaction()) {
        return;
    }
    watch();
    try {
        Wire(native(), Deadline::after(kRollbackTime), &cancel_sent_).run({"ROLLBACK"});
    } catch (...) { // NOLINT(bugprone-empty-catch): the pool closes a connection that is not idle
    }
}

void Session::rest()
{
    watch();
    rested_ = Deadline::Clock::now();
}

bool Session::in_transaction() const
{
    const PGTransactionStatusType status = PQtransactionStatus(native());
    return !lost() && (status == PQTRANS_INTRANS || status == PQTRANS_INERROR);
}

bool Session::lost() const
{
    const PGTransactionStatusType status = PQtransactionStatus(native());
    return PQstatus(native()) != CONNECTION_OK || status == PQTRANS_ACTIVE || status == PQTRANS_UNKNOWN ||
           PQpipelineStatus(native()) != PQ_PIPELINE_OFF;
}

bool Session::reusable() const
{
    return speaks_utf8(native()) && !lost() && !cancel_sent_ && !dying_ &&
           PQtransactionStatus(native()) == PQTRANS_IDLE;
}

bool Session::alive() const
{
    pollfd socket{PQsocket(native()), POLLIN, 0};
    if (Deadline::Clock::now() - rested_ < kJustUsed || poll(&socket, 1, 0) == 0) {
        return true;
    }
    // It has sent something: a notice, or its last words, behind which the end may follow.
    if (PQconsumeInput(native()) != 1) {
        return false;
    }
    (void)PQisBusy(native()); // reads the messages
    char octet = 0;
    const bool ended = recv(PQsocket(native()), &octet, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
    return !ended && reusable();
}

} // namespace idem::client
