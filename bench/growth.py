"""Measures how rates change as tables grow, with keys that rise and with random ones; prints what it found as JSON.

usage: growth.py [--rows 1000000,10000000,50000000] [--rounds N] [--seconds N]

All sizes stand side by side, each in a database of its own, so that they can take turns within the same minutes. A row
takes about 400 octets for each of two contenders: with the log, the three sizes above need 70 GB of free space.
"""

import argparse
import contextlib
import json
import shutil
import sys
import tempfile

import psycopg2

import contenders
import costs
import machine
import summary
import tables
from driver import Driver
from measure import end_when_told, note

NAMES = ("raw", "idem")
BYTES_PER_ROW = 430
# Pages of an index that grew by random keys are filled by about 70 %; fresh ones that are fuller would split all over.
FILL_FACTOR = {"ordered": 90, "random": 70}


def connect(database=""):
    """Opens a session in which each statement is its own transaction."""
    connection = psycopg2.connect(dbname=database) if database else psycopg2.connect("")
    connection.autocommit = True
    return connection


def fill(cursor, driver, contender):
    """Fills the table without its keys, then builds these as they would look had they grown."""
    table = contender.table
    cursor.execute("""
        SELECT conname, contype::text, pg_get_constraintdef(oid) FROM pg_constraint
        WHERE conrelid = %s::regclass AND contype IN ('p', 'u') ORDER BY contype
        """, (table,))
    keys = cursor.fetchall()
    # The first row comes from the contender, which needs the keys; tables.fill() makes it and no other here.
    tables.fill(cursor, Driver(driver.folder, 0, driver.keys, driver.database), contender)
    for name, _, _ in keys:
        cursor.execute(f"ALTER TABLE {table} DROP CONSTRAINT {name}")
    tables.multiply(cursor, driver, contender)
    ids = "ordered" if contender.ordered_ids else "random"
    for name, kind, definition in keys:
        factor = FILL_FACTOR[ids if kind == "p" else driver.keys]
        cursor.execute(f"ALTER TABLE {table} ADD CONSTRAINT {name} {definition} WITH (fillfactor = {factor})")
    cursor.execute(f"VACUUM (ANALYZE) {table}")


def prepare(database, keys, rows, folder):
    """Creates a database with filled tables; returns what drives it."""
    driver = Driver(folder, rows, keys, database)
    with contextlib.closing(connect()) as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {database}")
    with contextlib.closing(connect(database)) as connection, connection.cursor() as cursor:
        tables.create(cursor)
        for contender in takers():
            note(f"filling {contender.name}: {rows:,} rows, {keys} keys")
            fill(cursor, driver, contender)
        cursor.execute("CHECKPOINT")
    return driver


def takers():
    """Returns the contenders that take part."""
    return [contender for contender in contenders.CONTENDERS if contender.name in NAMES]


def log_position():
    """Returns the end of the write-ahead log, in octets."""
    with contextlib.closing(connect()) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint")
        return cursor.fetchone()[0]


def inserted(database, contender):
    """Returns how many rows were ever inserted, by the server's statistics: to count so many rows takes too long."""
    with contextlib.closing(connect(database)) as connection, connection.cursor() as cursor:
        costs.settle(cursor)
        cursor.execute("SELECT pg_stat_get_tuples_inserted(%s::regclass)", (contender.table,))
        return cursor.fetchone()[0]


def sizes(database):
    """Returns octets per row of each contender's table and indexes."""
    with contextlib.closing(connect(database)) as connection, connection.cursor() as cursor:
        return {contender.name: tables.sizes(cursor, contender.table) for contender in takers()}


def measure(keys, rows_list, rounds, seconds, folder):
    """Measures all sizes with one kind of keys; the databases are gone afterwards."""
    drivers = {rows: prepare(f"rows_{rows}", keys, rows, folder) for rows in rows_list}
    room = {rows: sizes(f"rows_{rows}") for rows in rows_list}
    cells = []
    for work in ("create", "replay"):
        note(f"{work}, {keys} keys")
        turns = [(contender, rows) for contender in takers() for rows in rows_list]
        runs = {turn: [] for turn in turns}
        logged = dict.fromkeys(turns, 0)
        # The first round warms caches, and does not count.
        for round_number in range(rounds + 1):
            shift = round_number % len(turns)
            for contender, rows in turns[shift:] + turns[:shift]:
                before = inserted(f"rows_{rows}", contender)
                start = log_position()
                run = drivers[rows].run(contender, work, 8, f"--time={seconds}")
                end = log_position()
                tables.check(contender, work, run, inserted(f"rows_{rows}", contender) - before)
                if round_number > 0:
                    runs[contender, rows].append(run)
                    logged[contender, rows] += end - start
        for (contender, rows), found in runs.items():
            heap, indexes = room[rows][contender.name]
            cell = summary.cell(found)
            cells.append({"work": work, "keys": keys, "rows": rows, "contender": contender.name, "table_bytes": heap,
                          "index_bytes": indexes, "wal_bytes": logged[contender, rows] / cell["calls"], **cell})
    with contextlib.closing(connect()) as connection, connection.cursor() as cursor:
        for rows in rows_list:
            cursor.execute(f"DROP DATABASE rows_{rows}")
    return cells


def main():
    parser = argparse.ArgumentParser(description="Measure rates as tables grow.")
    parser.add_argument("--rows", default="1000000,10000000,50000000", help="the sizes, with commas in between")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=5)
    options = parser.parse_args()
    rows_list = [int(rows) for rows in options.rows.split(",")]
    end_when_told()
    with contextlib.closing(connect()) as connection, connection.cursor() as cursor:
        about = machine.describe(cursor)
    with tempfile.TemporaryDirectory() as folder:
        needed = sum(rows_list) * BYTES_PER_ROW * len(NAMES) + 16 * 1024 ** 3
        if shutil.disk_usage(folder).free < needed:
            sys.exit(f"growth: this takes {needed / 1e9:.0f} GB in {folder}; choose smaller --rows")
        cells = [cell for keys in ("ordered", "random")
                 for cell in measure(keys, rows_list, options.rounds, options.seconds, folder)]
    json.dump({"machine": about, "date": machine.today(), "rounds": options.rounds, "seconds": options.seconds,
               "load_at_end": machine.load(), "cells": cells}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
