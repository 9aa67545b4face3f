#pragma once

#include <idem/client.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>

/// What a customer asks for. The key belongs to the payment, not to a try of it: it was made when the customer saw the
/// form, and comes again with every double click and every retry of the network.
struct Payment {
    idem::client::Key key;
    std::string from; ///< Accounts are capital letters and digits.
    std::string to;
    std::int64_t cents;
};

/// What the customer is told.
struct Answer {
    enum class Kind {
        paid,        ///< The money was moved by this call.
        paid_before, ///< It had been moved by an earlier call with the same key; to the customer, that is the same.
        refused,     ///< It was not and will not be moved by this request.
        unknown,     ///< Whether it was moved is not known. Asking again with the same key moves it at most once.
    };
    Kind kind;
    std::string transaction_id; ///< Of paid and paid_before.
    std::string reason;         ///< Of refused and unknown.
};

/// Moves money between accounts, each payment once. Thread-safe.
class PaymentService {
public:
    explicit PaymentService(idem::client::Client &client) : client_(client) {}

    /// Pays, or says why not. Throws nothing that has to do with the payment or the database.
    Answer pay(const Payment &payment);

private:
    idem::client::Client &client_;
};
