"""The model allows what is promised and refuses what is not: a play that passes has proved something."""

import unittest
import uuid

from answers import complete
from model import READ_COMMITTED, REPEATABLE_READ, Mismatch, Request, Session, World, waits_for
from player import explain, has_cycle
from steps import CALLS, Step

VALUES = (1000, "EUR", "{}", None, "now")


def call(key="k", order=None, content=0, raises=False):
    """A step that calls the ledger."""
    request = Request("ledger", ("t", "op", key), content, order)
    values = VALUES[:3] + (order, "now")
    step = Step("call", CALLS[raises], (), (request,), raises=raises, sent=(1000, {}))
    return step, values


class Model(unittest.TestCase):
    def setUp(self):
        self.world = World({name: Session() for name in "AB"})

    def take(self, name, step, answer, others=()):
        """Plays a step whose answer comes at once, in a window of its own."""
        self.world.start(name, step)
        self.world = complete(self.world, name, step, answer, list(others))
        self.world.window += 1

    def begin(self, name, isolation=READ_COMMITTED):
        self.take(name, Step("begin", "BEGIN", isolation=isolation), ("rows", "BEGIN", ()))

    def commit(self, name):
        self.take(name, Step("commit", "COMMIT"), ("rows", "COMMIT", ()))

    def create(self, name, **options):
        step, values = call(**options)
        row_id = str(uuid.uuid4())
        self.take(name, step, ("rows", "SELECT 1", (("created", row_id, *values),)))
        return row_id

    def outcome(self, name, outcome, row_id=None, **options):
        step, values = call(**options)
        values = values if row_id else (None,) * 5
        self.take(name, step, ("rows", "SELECT 1", ((outcome, row_id, *values),)))

    def error(self, name, code, **options):
        self.take(name, call(**options)[0], ("error", code))

    def refuses(self, action, *arguments, **options):
        world = self.world.copy()
        with self.assertRaises(Mismatch):
            action(*arguments, **options)
        self.world = world

    def test_a_key_makes_one_row(self):
        row_id = self.create("A")
        self.refuses(self.create, "B")
        self.refuses(self.outcome, "B", "replayed", str(uuid.uuid4()))
        self.refuses(self.outcome, "B", "conflict")
        self.refuses(self.error, "B", "40001")
        self.refuses(self.error, "B", "ID001", raises=True)
        self.outcome("B", "replayed", row_id)

    def test_another_content_is_a_conflict(self):
        row_id = self.create("A")
        self.refuses(self.outcome, "B", "replayed", row_id, content=1)
        self.refuses(self.error, "B", "ID001", content=1)
        self.outcome("B", "conflict", content=1)
        self.error("B", "ID001", content=1, raises=True)

    def test_an_order_is_taken_once(self):
        self.create("A", order="o")
        self.refuses(self.create, "B", key="other", order="o")
        self.outcome("B", "order_taken", key="other", order="o")

    def test_who_meets_a_row_in_progress_waits(self):
        self.begin("A")
        self.create("A")
        self.refuses(self.create, "B")
        self.refuses(self.outcome, "B", "conflict", content=1)
        self.refuses(self.error, "B", "ID002")
        self.world.start("B", call()[0])
        self.assertEqual(waits_for(self.world, "B"), {"A"})
        self.world.update("B", busy_timeout=0)
        self.error("B", "ID002")

    def test_a_limit_strikes_only_who_waits(self):
        self.world.update("B", busy_timeout=0, lock_timeout=10)
        for code in ("ID002", "55P03", "57014", "40P01"):
            self.refuses(self.error, "B", code)

    def test_a_rollback_frees_the_key(self):
        self.begin("A")
        self.create("A")
        self.take("A", Step("rollback", "ROLLBACK"), ("rows", "ROLLBACK", ()))
        self.refuses(self.outcome, "B", "conflict")
        self.create("B")

    def test_a_savepoint_frees_what_came_after_it(self):
        self.begin("A")
        self.create("A", key="before")
        self.take("A", Step("savepoint", ""), ("rows", "SAVEPOINT", ()))
        self.create("A", key="after")
        self.take("A", Step("rollback_to", "", savepoint=1), ("rows", "ROLLBACK", ()))
        self.create("B", key="after")
        self.refuses(self.create, "B", key="before")

    def test_a_snapshot_does_not_answer_with_what_it_cannot_see(self):
        self.begin("A", REPEATABLE_READ)
        self.create("A", key="first")
        row_id = self.create("B")
        self.refuses(self.outcome, "A", "replayed", row_id)
        self.refuses(self.create, "A")
        self.error("A", "40001")

    def test_a_commit_that_fails_is_not_believed(self):
        self.begin("A")
        self.create("A")
        self.error("A", "ID001", content=1, raises=True)
        self.refuses(self.commit, "A")
        self.take("A", Step("commit", "COMMIT"), ("rows", "ROLLBACK", ()))
        self.create("B")

    def test_answers_of_one_moment_may_come_in_any_order_that_exists(self):
        step, values = call()
        row_id = str(uuid.uuid4())
        for name in "AB":
            self.world.start(name, step)
        created = ("rows", "SELECT 1", (("created", row_id, *values),))
        replayed = ("rows", "SELECT 1", (("replayed", row_id, *values),))
        self.assertIsNotNone(explain(self.world, {"A": replayed, "B": created}, dict(self.world.pending), []))
        self.assertIsNone(explain(self.world, {"A": created, "B": created}, dict(self.world.pending), []))
        self.assertIsNone(explain(self.world, {"A": replayed, "B": replayed}, dict(self.world.pending), []))

    def test_sees_sessions_that_wait_in_a_circle(self):
        self.assertTrue(has_cycle({"A": {"B"}, "B": {"C"}, "C": {"A"}}))
        self.assertFalse(has_cycle({"A": {"B", "C"}, "B": {"C"}, "C": set()}))


if __name__ == "__main__":
    unittest.main()
