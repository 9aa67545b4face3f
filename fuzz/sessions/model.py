"""What idem promises to several sessions at once, as a model: docs/reference.md without a server.

A world holds the rows that are committed or in progress, and what each session is in the middle of. complete() takes
one answer of the server: it changes the world accordingly, or raises Mismatch where the promises do not allow the
answer. Commits are known by the window (player.py) in which they happened, not by their order within it.
"""

from dataclasses import dataclass, field, replace
from typing import Optional

READ_COMMITTED = "READ COMMITTED"
REPEATABLE_READ = "REPEATABLE READ"
SERIALIZABLE = "SERIALIZABLE"

BLOCKED = ("blocked",)
CREATED = ("created",)


class Mismatch(Exception):
    """An answer that the promises do not allow."""


@dataclass(frozen=True)
class Request:
    """A request: two are the same exactly where content and order are equal."""

    table: str  # ledger or payment
    scope: tuple  # tenant, operation, key
    content: int
    order: Optional[str] = None  # order_ref, or the invoice_no of a payment, which is unique in all of the table
    malformed: Optional[str] = None  # the SQLSTATE that refuses it

    def claims(self):
        """Returns what the row of the request would be the only one to have."""
        claims = {(self.table, "scope", *self.scope)}
        if self.order is not None:
            owner = self.scope[:2] if self.table == "ledger" else ()
            claims.add((self.table, "order", *owner, self.order))
        return claims

    def order_claim(self):
        """Returns the claim of the order, or None."""
        return next((claim for claim in self.claims() if claim[1] == "order"), None)


@dataclass(frozen=True)
class Row:
    """A row: of a session and its savepoint level while that is in progress, else of the window of its commit."""

    request: Request
    id: str
    values: tuple
    owner: Optional[str] = None
    level: int = 0
    released: bool = False  # with a savepoint that was made before it
    window: int = 0


@dataclass(frozen=True)
class Session:
    """Where a session is in its transaction, and what it has set."""

    state: str = "idle"  # idle, open, failed
    isolation: str = READ_COMMITTED
    savepoints: int = 0
    snapshot: Optional[int] = None  # the window in which it was taken; commits of that window may be seen or not
    met_serializable: bool = False  # another SERIALIZABLE transaction overlaps
    busy_timeout: int = -1
    lock_timeout: int = 0

    def has_limit(self):
        """Tells whether waits end by themselves."""
        return self.busy_timeout >= 0 or self.lock_timeout > 0


@dataclass
class World:
    """All that is known between two answers."""

    sessions: dict
    rows: dict = field(default_factory=dict)  # by each of its claims
    pending: dict = field(default_factory=dict)  # steps whose answer has not come, by session
    stale: frozenset = frozenset()  # (waiting session, other): the wait lasts to the other's end, see drop()
    window: int = 1

    def copy(self):
        """Returns a world that changes by itself."""
        return World(dict(self.sessions), dict(self.rows), dict(self.pending), self.stale, self.window)

    def update(self, name, **changes):
        """Changes a session."""
        self.sessions[name] = replace(self.sessions[name], **changes)

    def start(self, name, step):
        """A session sends a statement; with its first call a transaction takes its snapshot."""
        self.pending[name] = step
        session = self.sessions[name]
        if step.requests and session.state == "open" and session.snapshot is None:
            self.update(name, snapshot=self.window)

    def put(self, row):
        """Adds a row or replaces it."""
        for claim in row.request.claims():
            self.rows[claim] = row

    def own_rows(self, name):
        """Returns the rows in progress of a session."""
        return {row for row in self.rows.values() if row.owner == name}

    def drop(self, name, level):
        """Forgets the rows of a session that were made at this savepoint level or above.

        Who waits for a row whose savepoint was released waits for the whole transaction: PostgreSQL does not tell it
        that a savepoint before that one is rolled back to."""
        gone = {row for row in self.own_rows(name) if row.level >= level and row.released}
        claims = set().union(*(row.request.claims() for row in gone))
        self.stale |= {(other, name) for other, step in self.pending.items() if step.claims() & claims}
        self.rows = {claim: row for claim, row in self.rows.items() if row.owner != name or row.level < level}

    def end(self, name):
        """Ends a transaction, and all waits for it."""
        self.stale = frozenset(pair for pair in self.stale if pair[1] != name)
        self.update(name, **IDLE)

    def commit(self, name):
        """Makes the rows of a session everybody's."""
        for row in self.own_rows(name):
            self.put(replace(row, owner=None, window=self.window))
        self.end(name)

    def roll_back(self, name):
        """Ends a transaction without a trace."""
        self.drop(name, 0)
        self.end(name)

    def fail(self, name):
        """An error: the innermost subtransaction is undone at once, and the rest waits to be."""
        session = self.sessions[name]
        if session.state != "idle":
            self.drop(name, session.savepoints)
            self.update(name, state="failed")

    def stored(self):
        """Returns the committed rows."""
        return {row for row in self.rows.values() if row.owner is None}


IDLE = {"state": "idle", "isolation": READ_COMMITTED, "savepoints": 0, "snapshot": None, "met_serializable": False}


def visible(world, name, row):
    """Tells whether a session sees a row: True, False, or None where that cannot be known."""
    session = world.sessions[name]
    if row.owner is not None:
        return row.owner == name
    if session.isolation == READ_COMMITTED or session.state == "idle":
        return True
    if session.snapshot is None or row.window < session.snapshot:
        return True
    return None if row.window == session.snapshot else False


def unseen(row, session):
    """Returns what a clash with a row that cannot be seen means."""
    return BLOCKED if row.owner is not None else ("error", "40001")


def verdicts(world, name, request):
    """Returns what may become of one request now. BLOCKED alone: the session has to wait."""
    if request.malformed:
        return {("error", request.malformed)}
    session = world.sessions[name]
    allowed = set()
    scope = world.rows.get((request.table, "scope", *request.scope))
    taken = world.rows.get(request.order_claim())
    if scope is not None:
        seen = visible(world, name, scope)
        if seen is not False:
            same = (scope.request.content, scope.request.order) == (request.content, request.order)
            allowed.add(("replayed", scope) if same else ("conflict",))
        if seen is not True:
            allowed.add(unseen(scope, session))
        if request.table == "ledger" and scope.owner not in (None, name) and taken not in (None, scope):
            # Who has waited for the order need not wait for a row of the scope that came after.
            if visible(world, name, taken) is not False:
                allowed.add(("order_taken",))
        if request.table == "payment" and taken not in (None, scope):
            # Which of two unique keys of one's own table is looked at first is not promised.
            if taken.owner not in (None, name) or (seen is not True and visible(world, name, taken) is not True):
                allowed.add(unseen(taken, session))
    elif taken is not None:
        seen = visible(world, name, taken)
        if seen is not False:
            allowed.add(("order_taken",) if request.table == "ledger" else ("error", "23505"))
        if seen is not True:
            allowed.add(unseen(taken, session))
    else:
        allowed.add(CREATED)
    if batches_claiming(world, name, request.claims()) or stale_waits(world, name):
        allowed.add(BLOCKED)
    return allowed


def batches_claiming(world, name, claims):
    """Returns the sessions whose batch has not ended and may hold one of the claims already."""
    return {
        other for other, step in world.pending.items()
        if other != name and step.kind == "batch" and step.claims() & claims}


def stale_waits(world, name):
    """Returns the sessions that one waits for although they have given up what it asks for."""
    return {other for waiting, other in world.stale if waiting == name}


def waits_for(world, name):
    """Returns the sessions that the step of a session may be waiting for."""
    step = world.pending[name]
    holders = batches_claiming(world, name, step.claims()) | stale_waits(world, name)
    for claim in step.claims():
        row = world.rows.get(claim)
        if row is not None and row.owner not in (None, name):
            holders.add(row.owner)
    return holders


def in_cycle(world, name):
    """Tells whether a session may be waiting for itself, over others that wait."""
    reached, left = set(), {name}
    while left:
        current = left.pop()
        if current in world.pending:
            left |= waits_for(world, current) - reached
            reached |= waits_for(world, current)
    return name in reached


def require(holds, text):
    """Raises Mismatch where something does not hold."""
    if not holds:
        raise Mismatch(text)


def check_limits(world, name, step, code, may_block, others):
    """Checks an error that ends a wait, or a doomed transaction; `others` are steps of the same window."""
    session = world.sessions[name]
    met = any(other.claims() & step.claims() for other in others)
    if code == "ID002":
        require(session.busy_timeout >= 0 and (may_block or met), "ID002 without anything to wait for")
    elif code == "55P03":
        require(session.lock_timeout > 0 and (may_block or met), "55P03 without anything to wait for")
    elif code == "57014":
        require(step.cancelled, "57014 without a cancel")
    elif code == "40P01":
        require(in_cycle(world, name), "40P01 without a deadlock")
    elif code == "40001":
        require(session.isolation == SERIALIZABLE and session.met_serializable, "40001 without a reason")
    else:
        raise Mismatch(f"unexpected error {code}")


def add_row(world, name, request, row_id, values):
    """Stores what a session created."""
    require(row_id not in {row.id for row in world.rows.values()}, "an id is there twice")
    session = world.sessions[name]
    world.put(Row(request, row_id, values, name, session.savepoints))
