"""Compares what the instances and the ledger say with an independent count of the file."""

import collections

import requestfile

LEDGER_ROWS = """
    SELECT tenant_id, operation, idempotency_key, id, amount_minor, currency, order_ref, details::text
    FROM idem_transactions
"""


class Calls:
    """What all journals say together, request by request."""

    def __init__(self, requests, journals):
        self.requests = requests
        self.answers = [
            (requests[event["answered"]], event["outcome"], event["id"])
            for events in journals for event in events if "answered" in event
        ]
        self.outcomes = collections.Counter(outcome for _, outcome, _ in self.answers)
        self.created = collections.Counter(
            request.scope for request, outcome, _ in self.answers if outcome == "created"
        )
        self.ids = collections.defaultdict(set)
        for request, _, transaction_id in self.answers:
            if transaction_id:
                self.ids[request.scope].add(transaction_id)
        self.sent_again = self._sent_again(journals)

    def _sent_again(self, journals):
        """The scopes of honest requests that an instance sent more than once, having got no answer the first time."""
        again = set()
        for events in journals:
            sends = collections.Counter(event["sent"] for event in events if "sent" in event)
            again.update(self.requests[number].scope for number, times in sends.items()
                         if times > 1 and not self.requests[number].tampered)
        return again

    @property
    def died_created(self):
        """Scopes whose `created` no client has: only a send without an answer can have taken it."""
        return self.sent_again - set(self.created)

    @property
    def unexpected(self):
        """The kinds of answers that are no outcome at all: error messages."""
        return sorted(set(self.outcomes) - {"created", "replayed", "conflict"})

    @property
    def wrong_kind(self):
        """The number of answers that do not fit their request."""
        return sum(outcome not in (("conflict",) if request.tampered else ("created", "replayed"))
                   for request, outcome, _ in self.answers)


def unlike_original(requests, rows):
    """Counts the rows that do not hold what the first request of their scope asked for."""
    originals = {request.scope: request.original.content for request in requests}
    return sum(originals.get(tuple(row[:3])) != (row[4], row[5], row[6], requestfile.read_document(row[7]))
               for row in rows)


def compare(requests, calls, rows):
    """Returns the lines of the table: what is compared, what was found, what must be found."""
    scopes = collections.Counter(tuple(row[:3]) for row in rows)
    ids = {row[3] for row in rows}
    expected_scopes = len({request.scope for request in requests})
    tampered = sum(request.tampered for request in requests)
    created = expected_scopes - len(calls.died_created)
    return [
        ("requests answered", len({request.number for request, _, _ in calls.answers}), len(requests)),
        ("calls answered", len(calls.answers), 2 * len(requests)),
        ("  created", calls.outcomes["created"], created),
        ("  replayed", calls.outcomes["replayed"], 2 * (len(requests) - tampered) - created),
        ("  conflict", calls.outcomes["conflict"], 2 * tampered),
        ("answers that do not fit their request", calls.wrong_kind, 0),
        ("scopes answered with more than one id", sum(len(found) > 1 for found in calls.ids.values()), 0),
        ("scopes created more than once", sum(times > 1 for times in calls.created.values()), 0),
        ("rows in the ledger", len(rows), expected_scopes),
        ("scopes with more than one row", sum(times > 1 for times in scopes.values()), 0),
        ("rows unlike their first request", unlike_original(requests, rows), 0),
        ("acknowledged ids lost", len(set().union(*calls.ids.values()) - ids), 0),
    ]
