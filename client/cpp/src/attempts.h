#pragma once

#include "deadline.h"

#include <idem/client.hpp>

#include <chrono>
#include <optional>
#include <string>

namespace idem::client {

/// The attempts of one call of a client: counts them, tells the hook of each, and decides whether another one follows.
class Attempts {
public:
    /// What to do where an attempt may have been committed.
    enum class WhenInDoubt {
        repeat, ///< The repeated one finds out.
        raise,  ///< Nothing could: InDoubtError.
    };

    /// `request`, the first one of the call, is nullptr for a plain transaction.
    Attempts(const ClientOptions &options, const Request *request, WhenInDoubt when_in_doubt);

    [[nodiscard]] Deadline deadline() const { return deadline_; }
    /// Whether an attempt before this one may have been committed.
    [[nodiscard]] bool in_doubt() const { return in_doubt_; }
    /// The server of the current attempt.
    [[nodiscard]] const std::string &instance() const { return instance_; }

    void start();
    void reached(const std::string &instance) { instance_ = instance; }
    void succeeded(std::optional<Outcome> outcome) const;

    /// To be called while the exception is handled. Returns, after a pause, where another attempt shall be made; else
    /// it throws: the same error with the number of attempts, RetriesExhausted, or InDoubtError.
    void failed(const Error &error, bool uncertain);

    /// Tells the hook of an attempt that was ended by an exception of the application.
    void ended_by_application() const;

private:
    void tell(Attempt attempt) const;
    std::chrono::microseconds pause_after(Action action);
    [[noreturn]] void give_up(const Error &error, bool out_of_time) const;

    const ClientOptions &options_;
    const Request *request_;
    WhenInDoubt when_in_doubt_;
    Deadline deadline_;
    Deadline::Clock::time_point started_;
    std::string instance_;
    std::optional<Error> earlier_; ///< What the attempt before failed with.
    int number_ = 0;
    bool in_doubt_ = false;
    bool reconnected_ = false;
};

} // namespace idem::client
