#include <idem/transaction.hpp>

#include "calls.h"
#include "decode.h"
#include "encode.h"
#include "pool.h"
#include "raise.h"
#include "session.h"

#include <charconv>
#include <new>
#include <regex>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace idem::client {

bool Parameter::complete() const noexcept
{
    return !text_ || text_->find('\0') == std::string::npos;
}

std::int64_t Rows::affected() const
{
    // PQcmdTuples takes what is not const, and changes nothing.
    const std::string_view count = PQcmdTuples(result_.get());
    std::int64_t number = 0;
    std::from_chars(count.data(), count.data() + count.size(), number);
    return number;
}

std::optional<std::string_view> Rows::at(int row, int column) const
{
    if (row < 0 || row >= size() || column < 0 || column >= columns()) {
        throw std::out_of_range("no such row or column");
    }
    if (PQgetisnull(result_.get(), row, column) == 1) {
        return std::nullopt;
    }
    return std::string_view(PQgetvalue(result_.get(), row, column),
                            static_cast<std::size_t>(PQgetlength(result_.get(), row, column)));
}

Transaction::Transaction(std::unique_ptr<Session> session) noexcept : session_(std::move(session)) {}

Transaction::Transaction(Transaction &&) noexcept = default;

Transaction::~Transaction()
{
    rollback();
}

namespace {

// Whether a statement that was answered with ROLLBACK went back to a savepoint. Else it has ended the transaction, also
// where it has opened another one (AND CHAIN).
bool is_to_savepoint(std::string_view statement)
{
    static const std::regex to_savepoint(R"(\bto\b)", std::regex::icase | std::regex::nosubs);
    return std::regex_search(statement.begin(), statement.end(), to_savepoint);
}

Session &open(const std::unique_ptr<Session> &session)
{
    if (!session) {
        raise({"25P01", "the transaction has ended"});
    }
    return *session;
}

} // namespace

Rows Transaction::run(const std::string &statement, std::span<const Parameter> parameters)
{
    Session &session = open(session_);
    std::vector<const char *> values;
    values.reserve(parameters.size());
    bool complete = statement.find('\0') == std::string::npos;
    for (const Parameter &parameter : parameters) {
        complete = complete && parameter.complete();
        values.push_back(parameter.c_str());
    }
    if (!complete) {
        raise({"22021", "neither a statement nor a parameter may contain NUL"});
    }
    constexpr std::size_t kMostParameters = 65535; // of the protocol
    if (parameters.size() > kMostParameters) {
        raise({"54000", "there are too many parameters"});
    }
    const Statement sent{.text = statement.c_str(),
                         .count = static_cast<int>(values.size()),
                         .values = values.data(),
                         .result_format = 0};
    ResultPtr result = session.wire().run(sent);
    if (std::string_view(PQcmdStatus(result.get())) == "ROLLBACK" && !is_to_savepoint(statement)) {
        session.end();
    }
    return Rows(result.release());
}

PGconn *Transaction::native() const noexcept
{
    return session_ ? session_->native() : nullptr;
}

namespace {

// Makes a call. The request is sent in UTF-8, as which the server must take it: an action may have set another
// encoding.
Result call(Session &session, const Request &request, std::string Calls::*text)
{
    check(request);
    check_encoding(session.native());
    const CallParameters parameters(request);
    return decode_result(session.wire().run(parameters.statement(session.home().calls().*text)).get());
}

} // namespace

Result Transaction::create_transaction(const Request &request)
{
    return call(open(session_), request, &Calls::create);
}

Result Transaction::try_create_transaction(const Request &request)
{
    return call(open(session_), request, &Calls::try_create);
}

void Transaction::commit()
{
    Session &session = open(session_);
    if (session.managed) {
        raise({"2D000", "the client commits this transaction by itself"});
    }
    // Gives the session back, and tells whether the end is not known.
    const auto give_back = [&] {
        const bool uncertain = session.uncertain();
        session.home().give(std::move(session_));
        return uncertain;
    };
    try {
        session.commit();
    } catch (const Error &error) {
        if (give_back()) {
            raise_in_doubt(error, 0);
        }
        throw;
    } catch (const std::bad_alloc &) {
        if (give_back()) {
            raise_in_doubt(out_of_memory(), 0);
        }
        throw;
    }
    give_back();
}

void Transaction::rollback() noexcept
{
    if (session_) {
        session_->roll_back();
        Pool &pool = session_->home();
        pool.give(std::move(session_));
    }
}

} // namespace idem::client
