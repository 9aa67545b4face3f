"""Measures the contenders on the server that the environment names, and prints what it found as JSON.

usage: measure.py [--quick] [--rounds N] [--seconds N]
"""

import argparse
import contextlib
import dataclasses
import json
import signal
import sys
import tempfile
import time

import psycopg2
import psycopg2.extensions
import psycopg2.extras

import contenders
import costs
import machine
import summary
import tables
from driver import Driver, delayed

ROUND_TRIP_US = 500
WORKS = ("create", "replay", "mix", "try", "raise")


@dataclasses.dataclass(frozen=True)
class Plan:
    """How much is measured."""

    rounds: int
    seconds: int
    stored: int
    instructions: int
    cells: tuple


def cells(works, clients, syncs, delay=0):
    """Lists kinds of work under all combinations of what surrounds them."""
    return tuple((work, count, sync, delay) for sync in syncs for count in clients for work in works)


FULL = Plan(5, 2, 100_000, 1000,
            cells(WORKS, (1, 8, 32), (False, True)) + cells(("hot",), (64,), (False, True))
            + cells(("create", "replay"), (1, 8), (False,), ROUND_TRIP_US))
QUICK = Plan(2, 1, 20_000, 0,
             cells(("create", "replay", "try"), (8,), (False,)) + cells(("create",), (8,), (True,))
             + cells(("hot",), (64,), (False,)) + cells(("create",), (8,), (False,), ROUND_TRIP_US))


def end_when_told():
    """Lets a signal end the program at once and in order, while it waits for a statement too."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    psycopg2.extensions.set_wait_callback(psycopg2.extras.wait_select)


def note(text):
    """Tells the reader how far it is."""
    print(f"{time.strftime('%H:%M:%S')}  {text}", file=sys.stderr, flush=True)


def measure_cell(cursor, driver, plan, takers, cell):
    """Lets all contenders work in turn, round after round, each time beginning with another one."""
    work, clients, sync, delay = cell
    for table in {contender.table for contender in takers}:
        tables.fill(cursor, driver, contenders.owner_of(table))
    cursor.execute("CHECKPOINT")
    runs = {contender: [] for contender in takers}
    with delayed(delay) if delay else contextlib.nullcontext() as address:
        for turn in range(plan.rounds):
            for contender in takers[turn % len(takers):] + takers[:turn % len(takers)]:
                before = tables.count(cursor, contender.table)
                run = driver.run(contender, work, clients, f"--time={plan.seconds}", sync, address)
                tables.check(contender, work, run, tables.count(cursor, contender.table) - before)
                runs[contender].append(run)
    settings = {"work": work, "clients": clients, "sync": sync, "delay_us": delay}
    return [{**settings, "contender": contender.name, **summary.cell(runs[contender])} for contender in takers]


def measure(cursor, plan, folder):
    """Measures everything that the plan lists."""
    tables.create(cursor)
    present = contenders.present(cursor)
    driver = Driver(folder, plan.stored)
    found = []
    for number, cell in enumerate(plan.cells, 1):
        work, clients, sync, delay = cell
        takers = [contender for contender in present if contender.statements(work)]
        note(f"{number}/{len(plan.cells)}  {work}, {clients} clients, synchronous_commit {'on' if sync else 'off'}"
             + (f", round trip {delay} µs" if delay else ""))
        found += measure_cell(cursor, driver, plan, takers, cell)
    note("log, buffers, sizes")
    calls, sizes = costs.measure(cursor, driver, present)
    if plan.instructions:
        note("instructions")
    return {"about": {contender.name: contender.about for contender in present}, "rounds": plan.rounds,
            "seconds": plan.seconds, "stored": plan.stored, "cells": found, "calls": calls, "sizes": sizes,
            "instructions": costs.instructions(plan.instructions) if plan.instructions else []}


def main():
    parser = argparse.ArgumentParser(description="Measure idem beside what would be used instead.")
    parser.add_argument("--quick", action="store_true", help="in less than 3 minutes, and less exactly")
    parser.add_argument("--rounds", type=int, help="how often each contender takes its turn")
    parser.add_argument("--seconds", type=int, help="how long a turn is")
    options = parser.parse_args()
    plan = QUICK if options.quick else FULL
    plan = dataclasses.replace(plan, rounds=options.rounds or plan.rounds, seconds=options.seconds or plan.seconds)
    end_when_told()
    connection = psycopg2.connect("")
    connection.autocommit = True
    with connection.cursor() as cursor, tempfile.TemporaryDirectory() as folder:
        about = machine.describe(cursor)
        found = measure(cursor, plan, folder)
        found.update(machine=about, date=machine.today(), load_at_end=machine.load())
    json.dump(found, sys.stdout, indent=1, ensure_ascii=False)
    print()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
