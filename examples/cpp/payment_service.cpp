#include "payment_service.h"

#include <string_view>

using idem::client::Outcome;
using idem::client::Request;
using idem::client::Result;
using idem::client::Transaction;

namespace {

constexpr std::string_view kTenant = "shop";

// A reason of the business to refuse a payment.
class Refused : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// Accounts go into a JSON text: what is checked here needs no escapes there.
void check_account(std::string_view account)
{
    if (account.empty() ||
        account.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") != std::string_view::npos) {
        throw Refused("no such account");
    }
}

// Everything that makes it this payment and no other goes into the request: a key that comes again with another
// recipient or amount is refused.
Request request_for(const Payment &payment)
{
    check_account(payment.from);
    check_account(payment.to);
    if (payment.from == payment.to) {
        throw Refused("a payment needs two accounts");
    }
    return {.tenant_id = std::string(kTenant),
            .key = payment.key,
            .amount_minor = payment.cents,
            .currency = "EUR",
            .details = R"({"from": ")" + payment.from + R"(", "to": ")" + payment.to + R"("})",
            .operation = "payment"};
}

// Writes the business rows. It runs in the transaction that holds the ledger's row, and only where that row is new:
// both are committed, or neither is. It may run again where the database rolled an attempt back, so it changes nothing
// but the database.
void book(Transaction &tx, const Result &result, const Payment &payment)
{
    // Both accounts at once and in one order: then two payments that cross do not wait for each other in a circle.
    const auto accounts = tx.run("SELECT account, balance FROM accounts WHERE account IN ($1, $2) "
                                 "ORDER BY account FOR NO KEY UPDATE",
                                 {payment.from, payment.to});
    if (accounts.size() != 2) {
        throw Refused("no such account");
    }
    const auto paid = tx.run("UPDATE accounts SET balance = balance - $2::bigint "
                             "WHERE account = $1 AND balance >= $2::bigint",
                             {payment.from, payment.cents});
    if (paid.affected() != 1) {
        throw Refused("the account does not hold that much");
    }
    tx.run("UPDATE accounts SET balance = balance + $2::bigint WHERE account = $1", {payment.to, payment.cents});
    tx.run("INSERT INTO postings (tenant_id, transaction_id, account, cents) "
           "VALUES ($1, $2::uuid, $3, -($5::bigint)), ($1, $2::uuid, $4, $5::bigint)",
           {kTenant, result.transaction_id, payment.from, payment.to, payment.cents});
}

} // namespace

Answer PaymentService::pay(const Payment &payment)
try {
    const auto result =
        client_.once(request_for(payment), [&](Transaction &tx, const Result &created) { book(tx, created, payment); });
    return {
        result.outcome == Outcome::created ? Answer::Kind::paid : Answer::Kind::paid_before, result.transaction_id, {}};
} catch (const Refused &refused) {
    // Thrown in the transaction, it rolled back the ledger's row as well: the key is free, and the same payment can be
    // made once there is money on the account.
    return {Answer::Kind::refused, {}, refused.what()};
} catch (const idem::client::ConflictError &) {
    // To be logged as an error of the caller: it used one key for two payments.
    return {Answer::Kind::refused, {}, "the key belongs to another payment"};
} catch (const idem::client::InProgressError &) {
    return {Answer::Kind::unknown, {}, "the payment is being made just now"};
} catch (const idem::client::RetriesExhausted &error) {
    // The library has tried as long as its policy allows. Where an attempt may have been committed, only asking again
    // with the same key tells; where none was, asking again is what pays.
    return {Answer::Kind::unknown, {}, error.in_doubt() ? "the database did not say how it ended" : "try again later"};
} catch (const idem::client::Error &error) {
    // Nothing that repeating would help: a request that breaks a rule, or a database that is not set up.
    return {Answer::Kind::refused, {}, "the database refuses with " + error.sqlstate()};
}
