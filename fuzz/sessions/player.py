"""Plays steps in sessions of a server, and holds every answer against the model.

Steps are played in windows. In each, some sessions get a step at the same time; the window ends when every session has
answered or waits for another one. Then there must be an order of the answers that the model allows, one after the
other, and whoever still waits must have somebody to wait for.
"""

import select
import time
from collections import Counter

import psycopg2
from psycopg2 import extensions

from answers import complete
from model import Mismatch, Session, World, waits_for

PATIENCE = 30  # seconds, after which a session that neither answers nor waits for a lock hangs


class Player:
    """Some sessions of one database, and the world that the model sees."""

    def __init__(self, dsn, names):
        self.connections = {name: self._connect(dsn) for name in names}
        self.names = {connection.info.backend_pid: name for name, connection in self.connections.items()}
        self.monitor = psycopg2.connect(dsn)
        self.monitor.autocommit = True
        self.world = World({name: Session() for name in names})
        self.transcript = []
        self.counts = Counter()
        self._cursors = {}

    @staticmethod
    def _connect(dsn):
        connection = psycopg2.connect(dsn, async_=1)
        wait_for(connection)
        return connection

    def close(self):
        """Leaves the server."""
        for connection in self.connections.values():
            connection.close()
        self.monitor.close()

    def play(self, steps):
        """Plays one window: a step for each session named. Raises Mismatch."""
        before = set(self.world.pending)
        ran = {}
        for name, step in steps.items():
            self.transcript.append(f"{self.world.window} {name}: {step}")
            self.world.start(name, step)
            cursor = self.connections[name].cursor()
            self._cursors[name] = cursor
            cursor.execute(step.sql, step.parameters or None)
        ran.update(self.world.pending)
        self._finish_window(ran, before)

    def cancel(self, name):
        """Plays a window in which nothing happens but that a waiting session is cancelled."""
        self.transcript.append(f"{self.world.window} {name}: (cancel)")
        step = self.world.pending[name]
        step.cancelled = True
        self.connections[name].cancel()
        self._finish_window(dict(self.world.pending), set(self.world.pending))

    def _finish_window(self, ran, before):
        """Collects answers until everything is explained."""
        end = time.monotonic() + PATIENCE
        answers = {}
        while True:
            blockers = self._settle(answers, end)
            world = self._explain(answers, ran)
            strays = [name for name in world.pending if not self._may_wait(world, name, blockers)]
            if not strays:
                break
            # They may have been let go in this very moment.
            if time.monotonic() > end:
                raise Mismatch(f"{', '.join(strays)} waits for nobody whom it should wait for: {blockers}")
            time.sleep(0.002)
        self.counts["blocked"] += len(set(world.pending) - before)
        world.window += 1
        self.world = world

    def _settle(self, answers, end):
        """Takes answers until all sessions without one wait for another; returns whom each of them waits for."""
        quiet = 0
        while True:
            got_some = self._collect(answers, 0.001 if quiet == 0 else 0.003)
            waiting = [name for name in self.world.pending if name not in answers]
            blockers = self._blockers(waiting) if waiting else {}
            settled = all(blockers[name] and not self._ends_by_itself(name) for name in waiting)
            quiet = quiet + 1 if settled and not got_some and not has_cycle(blockers) else 0
            if not waiting or quiet == 2:
                return blockers
            if time.monotonic() > end:
                raise Mismatch(f"{', '.join(waiting)} hangs; waits: {blockers}")

    def _ends_by_itself(self, name):
        return self.world.pending[name].cancelled or self.world.sessions[name].has_limit()

    def _collect(self, answers, seconds):
        """Takes the answers that are there; tells whether there were any."""
        waiting = {
            self.connections[name].fileno(): name for name in self.world.pending if name not in answers}
        readable, _, _ = select.select(list(waiting), [], [], seconds) if waiting else ([], [], [])
        got_some = False
        for descriptor in readable:
            answer = self._answer(waiting[descriptor])
            if answer is not None:
                answers[waiting[descriptor]] = answer
                got_some = True
        return got_some

    def _answer(self, name):
        """Returns the answer of a session, or None where it is not complete."""
        try:
            if self.connections[name].poll() != extensions.POLL_OK:
                return None
        except psycopg2.Error as error:
            if error.pgcode is None:
                raise Mismatch(f"{name} lost its connection: {error}") from error
            self._note(name, f"error {error.pgcode}")
            return ("error", error.pgcode)
        cursor = self._cursors[name]
        rows = tuple(cursor.fetchall()) if cursor.description else ()
        self._note(name, f"{cursor.statusmessage} {rows if rows else ''}")
        for row in rows:
            self.counts[row[1] if isinstance(row[0], int) else row[0]] += 1
        return ("rows", cursor.statusmessage, rows)

    def _note(self, name, text):
        self.transcript.append(f"{self.world.window} {name}> {text}")
        if text.startswith("error"):
            self.counts[text.split()[1]] += 1

    def _blockers(self, names):
        """Returns for each session the names of those it waits for, with None for others."""
        pids = [self.connections[name].info.backend_pid for name in names]
        with self.monitor.cursor() as cursor:
            cursor.execute("SELECT pid, pg_blocking_pids(pid) FROM unnest(%s) AS pid", (pids,))
            return {self.names[pid]: {self.names.get(other) for other in others} for pid, others in cursor}

    @staticmethod
    def _may_wait(world, name, blockers):
        """Tells whether a session may wait for those it waits for."""
        return bool(waits_for(world, name)) and blockers.get(name, set()) <= waits_for(world, name) | set(world.pending)

    def _explain(self, answers, ran):
        """Returns the world after the answers, in an order that the model allows."""
        failures = []
        world = explain(self.world, answers, ran, failures)
        if world is None:
            raise Mismatch("no order of the answers is allowed: " + "; ".join(sorted(set(failures))))
        return world


def explain(world, answers, ran, failures):
    """Searches an order of the answers that the model allows; None where there is none."""
    if not answers:
        return world
    for name, answer in answers.items():
        others = [step for other, step in ran.items() if other != name]
        try:
            after = complete(world, name, world.pending[name], answer, others)
        except Mismatch as mismatch:
            failures.append(f"{name}: {mismatch}")
            continue
        rest = {other: left for other, left in answers.items() if other != name}
        found = explain(after, rest, ran, failures)
        if found is not None:
            return found
    return None


def has_cycle(blockers):
    """Tells whether sessions wait for each other in a circle; the server will end that."""
    for start in blockers:
        reached, left = set(), {start}
        while left:
            more = set(blockers.get(left.pop(), ())) - reached
            reached |= more
            left |= more
        if start in reached:
            return True
    return False


def wait_for(connection):
    """Waits until an asynchronous connection is ready."""
    while True:
        state = connection.poll()
        if state == extensions.POLL_OK:
            return
        if state == extensions.POLL_WRITE:
            select.select([], [connection.fileno()], [])
        else:
            select.select([connection.fileno()], [], [])
