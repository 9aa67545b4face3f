"""What the sessions do: steps drawn by a seed, and their SQL."""

import json
from dataclasses import dataclass
from decimal import Decimal
from typing import Optional

from model import READ_COMMITTED, REPEATABLE_READ, SERIALIZABLE, Request

# Two texts of each content: a retry may write the same document in another way.
CONTENTS = (
    (1000, ('{"a": 1.0, "b": []}', '{"b":[],"a":1}')),
    (1000, ('{"a": 9007199254740993}', '{"a": 9007199254740993.0}')),
    (2000, ('{"a": 9007199254740992}', '{"a": 9007199254740992}')),
)
KEYS = ("k", "K", "kk", "\u00e9", "e\u0301")
ORDERS = (None, None, "1", "2")
# What is refused, and where it stands: tenant, key, amount, currency, details.
MALFORMED = ((0, "", "22023"), (0, " t", "22023"), (1, "k" * 256, "22023"), (1, "a\tb", "22023"), (1, None, "22004"),
             (2, 0, "22023"), (3, "eur", "22023"), (4, "[]", "22023"))


def document(text):
    """Returns a JSON text as it can be compared: every digit of a number counts."""
    return json.loads(text, parse_float=Decimal)


CALLS = {
    False: "SELECT outcome, transaction_id, amount_minor, currency, details::text, order_ref, created_at::text"
           " FROM idem_try_create_transaction(%s, %s, %s, %s, %s::jsonb, %s, %s)",
    True: "SELECT outcome, transaction_id, amount_minor, currency, details::text, order_ref, created_at::text"
          " FROM idem_create_transaction(%s, %s, %s, %s, %s::jsonb, %s, %s)",
}
INSERTS = {
    raises: f"""SELECT outcome, "row" ->> 'id', "row" ->> 'amount', "row" ->> 'meta', "row" ->> 'invoice_no'"""
            f" FROM {function}('payment', %s, %s, %s::jsonb, %s)"
    for raises, function in ((False, "idem_try_insert"), (True, "idem_insert"))}
BATCH = ("SELECT ord, outcome, transaction_id, sqlstate, created_at::text FROM idem_create_transactions("
         "%s::text[], %s::text[], %s::bigint[], %s::text[], %s::jsonb[], %s::text[], %s::text[], %s)")


@dataclass
class Step:
    """One statement of one session."""

    kind: str
    sql: str
    parameters: tuple = ()
    requests: tuple = ()
    isolation: str = READ_COMMITTED
    savepoint: int = 0
    busy_timeout: int = -1
    lock_timeout: int = 0
    raises: bool = False
    mode: str = "each"
    cancelled: bool = False
    sent: Optional[tuple] = None

    def claims(self):
        """Returns what the rows of the step's requests would be the only ones to have."""
        return set().union(*(request.claims() for request in self.requests if not request.malformed))

    def stored_as_sent(self, values):
        """Tells whether the values of a created row are those of the request."""
        request = self.requests[0]
        if request.table == "payment":
            amount, meta, invoice = values
            return (float(amount), document(meta), invoice) == (*self.sent, request.order)
        amount, currency, details, order, created_at = values
        return created_at is not None and \
            (amount, currency, document(details), order) == (self.sent[0], "EUR", self.sent[1], request.order)

    def __str__(self):
        text = self.sql % tuple(repr(parameter) for parameter in self.parameters) if self.parameters else self.sql
        return text if len(text) < 400 else text[:400] + "..."


class Author:
    """Draws steps; the same seed and the same worlds give the same ones."""

    def __init__(self, chance, episode):
        self.chance = chance
        self.tenants = (f"t{episode}", f"u{episode}")

    def step(self, session):
        """Returns a step that suits the state of a session."""
        chance = self.chance.random()
        if session.state == "idle":
            if chance < 0.5:
                return self.begin()
            return self.settings() if chance < 0.6 else self.statement()
        if session.state == "failed":
            if chance < 0.45 and session.savepoints:
                return self.rollback_to(session)
            return self.statement() if chance < 0.1 else self.end()
        if chance < 0.6:
            return self.statement()
        if chance < 0.72 and session.savepoints < 4:
            name = session.savepoints + 1
            return Step("savepoint", f"SAVEPOINT s{name}")
        if chance < 0.80 and session.savepoints:
            return self.rollback_to(session)
        if chance < 0.84 and session.savepoints:
            number = self.chance.randint(1, session.savepoints)
            return Step("release", f"RELEASE s{number}", savepoint=number)
        return self.end()

    def begin(self):
        """A transaction of any isolation level."""
        isolation = self.chance.choice(
            (READ_COMMITTED, READ_COMMITTED, READ_COMMITTED, REPEATABLE_READ, SERIALIZABLE))
        return Step("begin", f"BEGIN ISOLATION LEVEL {isolation}", isolation=isolation)

    def end(self):
        """The end of a transaction."""
        return Step("commit", "COMMIT") if self.chance.random() < 0.65 else Step("rollback", "ROLLBACK")

    def rollback_to(self, session):
        """Back to any savepoint, which stays."""
        number = self.chance.randint(1, session.savepoints)
        return Step("rollback_to", f"ROLLBACK TO s{number}", savepoint=number)

    def settings(self):
        """Limits for waits, and a write path."""
        busy = self.chance.choice((-1, -1, -1, 0, 20))
        lock = self.chance.choice((0, 0, 0, 15))
        path = self.chance.choice(("on", "off"))
        return Step(
            "settings", f"SET idem.busy_timeout = {busy}; SET lock_timeout = {lock}; SET idem.direct_path = {path}",
            busy_timeout=busy, lock_timeout=lock)

    def statement(self):
        """A call, an insert into the attached table, or a batch."""
        chance = self.chance.random()
        if chance < 0.2:
            return self.batch()
        return self.insert() if chance < 0.4 else self.call()

    def arguments(self):
        """Returns a request to the ledger, and the arguments that say it."""
        chance = self.chance
        content = chance.randrange(len(CONTENTS))
        amount, details = CONTENTS[content]
        order = chance.choice(ORDERS)
        operation = chance.choice(("create-transaction", "create-transaction", "refund"))
        arguments = [chance.choice(self.tenants), chance.choice(KEYS), amount, "EUR", chance.choice(details), operation,
                     order]
        malformed = None
        if chance.random() < 0.06:
            place, value, malformed = chance.choice(MALFORMED)
            arguments[place] = value
        request = Request("ledger", (arguments[0], operation, arguments[1]), content, order, malformed)
        return request, arguments

    def call(self):
        """A call of the ledger."""
        request, arguments = self.arguments()
        raises = self.chance.random() < 0.4
        return Step("call", CALLS[raises], tuple(arguments), (request,), raises=raises,
                    sent=(arguments[2], document(arguments[4])))

    def insert(self):
        """A call of the attached table."""
        chance = self.chance
        content = chance.randrange(len(CONTENTS))
        amount, details = CONTENTS[content]
        tenant, key, text = chance.choice(self.tenants), chance.choice(KEYS[:3]), chance.choice(details)
        invoice = chance.choice((None, None, f"{self.tenants[0]}-1", f"{self.tenants[0]}-2"))
        row = f'{{"amount": {amount}, "meta": {text}' + (f', "invoice_no": "{invoice}"' if invoice else "") + "}"
        raises = chance.random() < 0.4
        request = Request("payment", (tenant, "pay", key), content, invoice)
        return Step("call", INSERTS[raises], (tenant, key, row, "pay"), (request,), raises=raises,
                    sent=(amount, document(text)))

    def batch(self):
        """Some requests to the ledger at once."""
        drawn = [self.arguments() for _ in range(self.chance.randint(1, 5))]
        mode = self.chance.choice(("each", "each", "all"))
        columns = tuple(list(column) for column in zip(*(arguments for _, arguments in drawn)))
        return Step("batch", BATCH, columns + (mode,), tuple(request for request, _ in drawn), mode=mode,
                    raises=mode == "all")
