#!/usr/bin/env python3
"""Sessions play calls that collide, and a model says what each may be answered. See --help.

Runs against the server that PGHOST, PGPORT and PGUSER name (as scripts/with-server sets them), in databases of its own.
Prints the Test Anything Protocol; where an answer is not allowed, the transcript of that episode too."""

import argparse
import random
import sys
import time
from collections import Counter

import psycopg2

from model import Mismatch
from player import Player
from steps import Author

SESSIONS = ("A", "B", "C", "D", "E")
WINDOWS = 60  # of an episode

PAYMENT = """
CREATE TABLE payment (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(), tenant_id text NOT NULL, operation text NOT NULL,
  idempotency_key text NOT NULL, request_hash bytea, invoice_no text UNIQUE, amount numeric NOT NULL,
  meta jsonb NOT NULL DEFAULT '{}', UNIQUE (tenant_id, operation, idempotency_key));
SELECT idem_attach('payment');
"""
# Ledgers that calls write to in different ways.
LEDGERS = {
    "plain": "",
    "trigger": "CREATE FUNCTION same() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';"
               "CREATE TRIGGER same BEFORE INSERT ON idem_transactions FOR EACH ROW EXECUTE FUNCTION same();",
    "column": "ALTER TABLE idem_transactions ADD note text DEFAULT 'x'",
}
# What a run must have met to prove anything.
EXPECTED = ("created", "replayed", "conflict", "order_taken", "invalid", "blocked", "ID001", "ID002", "ID003", "22023",
            "23505", "25P02", "40001", "40P01", "55P03", "57014")


def make_database(ledger):
    """Makes a database with a ledger of a kind, and returns how to connect to it."""
    name = f"sessions_{ledger}"
    with_default = psycopg2.connect("")
    with_default.autocommit = True
    with with_default.cursor() as cursor:
        cursor.execute(f"DROP DATABASE IF EXISTS {name}")
        cursor.execute(f"CREATE DATABASE {name}")
    with_default.close()
    dsn = f"dbname={name}"
    with psycopg2.connect(dsn) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE EXTENSION idem;" + PAYMENT + LEDGERS[ledger])
    return dsn


def play_episode(player, author, chance):
    """Plays an episode up to the end of all transactions."""
    for _ in range(WINDOWS):
        world = player.world
        waiting = [name for name in world.pending]
        if waiting and chance.random() < 0.06:
            player.cancel(chance.choice(waiting))
            continue
        free = [name for name in SESSIONS if name not in world.pending]
        if not free:
            player.cancel(chance.choice(waiting))
            continue
        count = min(len(free), chance.choice((1, 1, 1, 2, 3)))
        player.play({name: author.step(world.sessions[name]) for name in chance.sample(free, count)})
    while player.world.pending or any(session.state != "idle" for session in player.world.sessions.values()):
        free = [name for name, session in player.world.sessions.items()
                if name not in player.world.pending and session.state != "idle"]
        if free:
            player.play({chance.choice(free): author.end()})
        else:
            player.cancel(chance.choice(list(player.world.pending)))


def check_rows(player, author):
    """Compares what is stored with what the model has."""
    with player.monitor.cursor() as cursor:
        cursor.execute(
            "SELECT 'ledger', tenant_id, operation, idempotency_key, id::text, order_ref FROM idem_transactions"
            " WHERE tenant_id = ANY (%s) UNION ALL"
            " SELECT 'payment', tenant_id, operation, idempotency_key, id::text, invoice_no FROM payment"
            " WHERE tenant_id = ANY (%s)", (list(author.tenants), list(author.tenants)))
        stored = sorted(cursor.fetchall(), key=str)
        cursor.execute(
            "SELECT id::text, amount_minor, currency, details::text, order_ref, created_at::text FROM idem_transactions"
            " WHERE tenant_id = ANY (%s)", (list(author.tenants),))
        values = {row[0]: row[1:] for row in cursor}
    rows = player.world.stored()
    expected = sorted(((row.request.table, *row.request.scope, row.id, row.request.order) for row in rows), key=str)
    if stored != expected:
        raise Mismatch(f"the tables hold\n{stored}\nand should hold\n{expected}")
    for row in rows:
        if row.request.table == "ledger" and row.values is not None and values[row.id] != row.values:
            raise Mismatch(f"a row holds {values[row.id]} and was returned as {row.values}")
    return len(rows)


def run_episode(dsn, seed, number, counts):
    """Plays one episode; returns its transcript where something was not allowed, else None."""
    chance = random.Random(f"{seed} {number}")
    author = Author(chance, f"{seed}-{number}")
    player = Player(dsn, SESSIONS)
    try:
        play_episode(player, author, chance)
        counts["rows"] += check_rows(player, author)
    except Mismatch as mismatch:
        return [*player.transcript, f"VIOLATED: {mismatch}"]
    finally:
        player.close()
        counts.update(player.counts)
        counts["windows"] += player.world.window
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=30, help="how long to play, about (%(default)s)")
    parser.add_argument("--seed", type=int, help="repeats the episodes of an earlier run, which printed its seed")
    parser.add_argument("--first", type=int, default=0, help="the number of the first episode (%(default)s)")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1000000)
    databases = [make_database(ledger) for ledger in LEDGERS]
    print(f"# seed {seed}", flush=True)
    counts = Counter()
    number, end, spoken = options.first, time.monotonic() + options.seconds, time.monotonic()
    transcript = None
    while transcript is None and time.monotonic() < end:
        transcript = run_episode(databases[number % len(databases)], seed, number, counts)
        number += 1
        if time.monotonic() > spoken + 20:
            spoken = time.monotonic()
            print(f"# {number - options.first} episodes", flush=True)
    for line in transcript or ():
        print(f"# {line}")
    print(f"# {dict(sorted(counts.items()))}")
    results = {
        f"{number - options.first} episodes end as the model allows (seed {seed}, the last is {number - 1})":
            transcript is None,
        "every kind of answer was met": all(counts[kind] for kind in EXPECTED),
    }
    for place, (text, holds) in enumerate(results.items()):
        print(f"{'ok' if holds else 'not ok'} {place + 1} - {text}")
    print(f"1..{len(results)}")
    return 0 if all(results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
