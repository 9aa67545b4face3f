#pragma once

#include <idem/error.hpp>

#include <string>

namespace idem::client {

/// What an Error says.
struct Failure {
    std::string sqlstate;
    std::string message;
    std::string detail = {};
    std::string hint = {};
};

/// Throws the class of Error that belongs to the SQLSTATE.
[[noreturn]] void raise(const Failure &failure, int attempts = 0);

/// Throws an Error with the same SQLSTATE and texts, and the number of attempts.
[[noreturn]] void raise_again(const Error &error, int attempts);

/// What std::bad_alloc amounts to where more is to be told than that.
inline Error out_of_memory()
{
    return {"53200", "out of memory"};
}

/// Throws InDoubtError after a failure of which it is not known how it ended.
[[noreturn]] void raise_in_doubt(const Error &last, int attempts);

} // namespace idem::client
