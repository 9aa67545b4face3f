"""What a call costs apart from time: write-ahead log, buffers, instructions, room in tables and indexes."""

import os
import re
import time

import contenders
import tables
from driver import output_of

CALLS = 2000
LINE = re.compile(r"^(.+): create (\d+), replay (\d+) instructions per call$", re.M)
# What bench/instructions measures, as this benchmark names it.
NAMES = {"idem_create_transaction": "idem", "idem_create_transaction by statement": "idem (SPI)",
         "handwritten.create_transaction": "plpgsql", "attached.uuid": "attached"}


def settle(cursor):
    """Waits until no other session is left; a session counts its buffers when it ends."""
    while True:
        cursor.execute("SELECT count(*) FROM pg_stat_activity "
                       "WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()")
        if cursor.fetchone()[0] == 0:
            return
        time.sleep(0.01)


def counters(cursor):
    """Returns the position in the write-ahead log and the buffers touched so far."""
    settle(cursor)
    # What this session has done itself is counted now, and not at some time later.
    cursor.execute("SELECT pg_stat_force_next_flush()")
    cursor.execute("SELECT pg_current_wal_insert_lsn() - '0/0', blks_hit + blks_read "
                   "FROM pg_stat_database WHERE datname = current_database()")
    return cursor.fetchone()


def of_calls(cursor, driver, contender, work):
    """Returns the octets of log and the buffers of one call, without those of a session's start."""
    def spent(calls):
        before = counters(cursor)
        driver.run(contender, work, 1, f"--transactions={calls}")
        return [after - start for start, after in zip(before, counters(cursor))]
    # The first change of a page after a checkpoint logs the whole page: that is the checkpoint's cost.
    spent(CALLS)
    few, many = spent(1), spent(CALLS + 1)
    rows = contender.rows_per_call
    log, buffers = ((float(end) - float(start)) / CALLS / rows for start, end in zip(few, many))
    return {"contender": contender.name, "work": work, "wal_bytes": log, "buffers": buffers}


def measure(cursor, driver, present):
    """Returns log and buffers per call, and octets per row."""
    calls, sizes = [], []
    for contender in present:
        if contender.rows_per_call > 1:
            continue
        tables.fill(cursor, driver, contenders.owner_of(contender.table))
        if "create" in contender.works:
            heap, indexes = tables.sizes(cursor, contender.table)
            sizes.append({"contender": contender.name, "table_bytes": heap, "index_bytes": indexes})
        calls += [of_calls(cursor, driver, contender, work)
                  for work in ("create", "replay", "try") if contender.statements(work)]
    return calls, sizes


def instructions(calls):
    """Counts instructions by callgrind."""
    script = os.path.join(tables.FOLDER, "instructions")
    return [{"contender": NAMES.get(name, name), "create": int(create), "replay": int(replay)}
            for name, create, replay in LINE.findall(output_of([script, str(calls)]))]
