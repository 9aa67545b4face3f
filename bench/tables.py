"""Makes the tables of the contenders, fills them, and checks what runs have left in them."""

import os

from contenders import BATCH, COPIED, COPIED_FILE, request
from driver import FIRST, STORED_AMOUNT, Failed

FOLDER = os.path.dirname(os.path.abspath(__file__))
KEY_OF = {"ordered": "g::text || '-7000-8000-0192f3a47c5e'", "random": "md5(g::text)"}
# Of the kind that idem makes, long before the ones that it makes now.
ORDERED_ID = f"(lpad(to_hex(1500000000000 + g - {FIRST}), 12, '0') || '70008' || substr(md5(g::text), 1, 15))::uuid"
STEP = 1_000_000


def create(cursor):
    """Creates the extension and everything that the contenders need."""
    cursor.execute("CREATE EXTENSION idem")
    for name in ("plpgsql", "double_entry", "attached", "tables", "caught"):
        with open(os.path.join(FOLDER, f"{name}.sql"), encoding="utf-8") as file:
            cursor.execute(file.read())
    write_copied_file(cursor)


def write_copied_file(cursor):
    """Writes the file that COPY reads: the rows of one batch."""
    values = request(STORED_AMOUNT)
    cursor.execute("SHOW data_directory")
    path = os.path.join(cursor.fetchone()[0], COPIED_FILE)
    row = [values[name] for name in ("tenant", "operation", "hash")] + [1] + [
        values[name] for name in ("amount", "currency", "details")]
    cursor.execute(f"CREATE TEMP TABLE copied AS SELECT {COPIED} FROM raw.transactions WHERE false")
    cursor.execute("INSERT INTO copied SELECT %s, %s, %s, %s, %s, %s, %s FROM generate_series(1, %s)", (*row, BATCH))
    cursor.execute("COPY copied TO %s", (path,))
    cursor.execute("DROP TABLE copied")


def count(cursor, table):
    """Counts the rows."""
    cursor.execute(f"SELECT count(*) FROM {table}")
    return cursor.fetchone()[0]


def fill(cursor, driver, contender):
    """Leaves the stored rows alone in the table. The contender makes one more itself, which the others are like."""
    cursor.execute(f"TRUNCATE {contender.table}")
    driver.run(contender, "hot", 1, "--transactions=1")
    if count(cursor, contender.table) != 1:
        raise Failed(f"{contender.name} made no row")
    multiply(cursor, driver, contender)


def multiply(cursor, driver, contender):
    """Adds the stored rows: each has a key and an id of its own, and all else from the row that is there."""
    table = contender.table
    cursor.execute("""
        SELECT attname FROM pg_attribute
        WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped AND attname NOT IN ('id', 'idempotency_key')
        """, (table,))
    columns = ", ".join(name for name, in cursor.fetchall())
    row_id = ORDERED_ID if contender.ordered_ids else "gen_random_uuid()"
    for done in range(0, driver.stored, STEP):
        cursor.execute(f"""
            INSERT INTO {table} (id, idempotency_key, {columns})
            SELECT {row_id}, {KEY_OF[driver.keys]}, {columns}
            FROM (SELECT {columns} FROM {table} LIMIT 1) AS first, generate_series(%s, %s) AS g
            """, (FIRST + done + 1, FIRST + min(done + STEP, driver.stored)))


def check(contender, work, run, added):
    """Stops the benchmark where a run did not add the rows that its kind of work must add."""
    if work in ("create", "mix"):
        # Of a mix, 5 % are retries.
        right = run.calls * (1 if work == "create" else 0.9) <= added <= run.calls
    else:
        right = added == (work == "hot")
    if not right:
        raise Failed(f"{contender.name}: {run.calls} calls of {work} have added {added} rows")


def sizes(cursor, table):
    """Returns the octets of the table and of its indexes per row."""
    cursor.execute(f"SELECT pg_table_size(%s), pg_indexes_size(%s), count(*) FROM {table}", (table, table))
    heap, indexes, rows = cursor.fetchone()
    return heap / rows, indexes / rows
