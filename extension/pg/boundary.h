#pragma once

// The wall between C++ exceptions and the server's errors, which jump with longjmp. Two doors lead through it:
// entry() for what the server calls, backend() for what we call of the server.

#include "../core/error.h"

#include <exception>
#include <new>
#include <type_traits>

#include "pg.h"

namespace idem::pg {

/// A server error that backend() caught. It must reach the server again: catch it only to translate it into another
/// error, never to go on.
struct BackendError {
    ErrorData *error;
};

/// Run server code; turn an ERROR into BackendError. The closure must be trivially destructible, and so must everything
/// that it creates, because the server's jump runs no destructors.
template <typename F>
auto backend(F body) -> decltype(body())
{
    static_assert(std::is_trivially_destructible_v<F>);
    struct Restore { // lives in the frame the jump lands in, so it is not skipped
        sigjmp_buf *stack = PG_exception_stack;
        ErrorContextCallback *context = error_context_stack;
        ~Restore()
        {
            PG_exception_stack = stack;
            error_context_stack = context;
        }
    } restore;
    MemoryContext memory = CurrentMemoryContext;
    sigjmp_buf here;
    if (sigsetjmp(here, 0) == 0) {
        PG_exception_stack = &here;
        return body();
    }
    // Copying the error may itself run out of memory; that must not jump over the callers' destructors either.
    error_context_stack = restore.context;
    ErrorData *volatile error = nullptr;
    if (sigsetjmp(here, 0) == 0) {
        MemoryContextSwitchTo(memory);
        error = CopyErrorData();
    }
    PG_exception_stack = restore.stack;
    MemoryContextSwitchTo(memory);
    FlushErrorState();
    if (error == nullptr) {
        throw std::bad_alloc();
    }
    throw BackendError{error};
}

/// What entry() raises once every C++ object is gone; plain memory only, for it is jumped over.
class Report {
public:
    void set(ErrorData *backend) noexcept { backend_ = backend; }
    void set(const core::Error &error) noexcept;
    void set(const char *sqlstate, const char *message) noexcept;
    [[noreturn]] void raise();

private:
    ErrorData *backend_ = nullptr;
    char sqlstate_[6] = "";
    char message_[256] = "";
    char detail_[1024] = "";
    char hint_[512] = "";
};

/// Run `body`, C++ code that the server called: whatever it throws is raised as an ERROR after the handlers have ended.
template <typename F>
auto guarded(F body) -> decltype(body())
{
    Report report;
    try {
        return body();
    } catch (const BackendError &e) {
        report.set(e.error);
    } catch (const core::Error &e) {
        report.set(e);
    } catch (const std::bad_alloc &) {
        report.set("53200", "out of memory");
    } catch (const std::exception &e) {
        report.set("XX000", e.what());
    } catch (...) {
        report.set("XX000", "unexpected exception");
    }
    report.raise();
}

/// The SQL-callable form of a C++ function.
template <Datum (*Body)(FunctionCallInfo)>
Datum entry(FunctionCallInfo fcinfo)
{
    return guarded([fcinfo] { return Body(fcinfo); });
}

/// Let a cancel, a timeout or a shutdown take effect here, as a BackendError.
inline void check_interrupts()
{
    if (INTERRUPTS_PENDING_CONDITION()) {
        backend([] { ProcessInterrupts(); });
    }
}

} // namespace idem::pg
