#pragma once

#include <exception>
#include <string>

namespace idem::core {

/// An error as PostgreSQL reports it. `sqlstate` is one of errcodes.h. Message: one line, lower case, no period;
/// detail and hint: sentences, may be empty. All texts are UTF-8 and never hold a request's or a stored value.
class Error : public std::exception {
public:
    Error(const char *sqlstate, std::string message, std::string detail = {}, std::string hint = {});

    const char *what() const noexcept override { return message_.c_str(); }
    const char *sqlstate() const noexcept { return sqlstate_; }
    const std::string &message() const noexcept { return message_; }
    const std::string &detail() const noexcept { return detail_; }
    const std::string &hint() const noexcept { return hint_; }

private:
    const char *sqlstate_;
    std::string message_;
    std::string detail_;
    std::string hint_;
};

} // namespace idem::core
