#pragma once

#include "records.hpp"

#include <idem/client.hpp>

#include <vector>

namespace idem::verify {

/// The request as the client takes it. Throws client::Error where the client refuses its key.
inline client::Request request_of(const Posed &posed)
{
    return client::Request{posed.scope.tenant_id, client::Key(posed.scope.key), posed.amount_minor, posed.currency,
                           posed.details,         posed.scope.operation,        posed.order_ref};
}

/// What a history keeps of a result.
inline Answer answer_of(const client::Result &result)
{
    return Answer{result.outcome, result.transaction_id};
}

/// Makes one batch call. Throws what the client does.
inline std::vector<Answer> ask_together(client::Client &client, const std::vector<Posed> &all)
{
    std::vector<client::Request> requests;
    requests.reserve(all.size());
    for (const Posed &posed : all) {
        requests.push_back(request_of(posed));
    }
    std::vector<Answer> answers;
    for (const client::BatchResult &result : client.create_transactions(requests)) {
        answers.push_back(Answer{result.outcome, result.transaction_id.value_or("")});
    }
    return answers;
}

/// Whether a call that threw may have been committed all the same.
inline bool is_in_doubt(const client::Error &error)
{
    const auto *exhausted = dynamic_cast<const client::RetriesExhausted *>(&error);
    return exhausted != nullptr && exhausted->in_doubt();
}

} // namespace idem::verify
