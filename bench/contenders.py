"""Who takes part: what each contender sends for a call, written for pgbench.

To add one, append it to CONTENDERS. One whose function or setting the server lacks stays away by itself.
"""

import dataclasses

DETAILS = '{"order": "o-1", "payee": "acct_123", "memo": "hello"}'


def request(amount):
    """Returns the values of a request but for its key. They are bound as parameters, as a driver does it."""
    return {
        "tenant": "tenant-42", "operation": "create-transaction",
        "amount": amount, "currency": "USD", "details": DETAILS,
        "row": f'{{"amount_minor": {amount}, "currency": "USD", "details": {DETAILS}}}',
        # What a client of raw or seed has computed itself.
        "hash": "\\x" + "5a" * 32,
    }


SCOPE = "tenant_id, operation, idempotency_key"
INSERT = """INSERT INTO {table}
    (tenant_id, id, operation, idempotency_key, request_hash, hash_version, amount_minor, currency, details)
  VALUES (:tenant, gen_random_uuid(), :operation, {{key}}, :hash, 1, :amount, :currency, :details)
  ON CONFLICT (""" + SCOPE + """) DO NOTHING
  RETURNING id, created_at"""
FETCH = """SELECT id, created_at, request_hash FROM {table}
  WHERE tenant_id = :tenant AND operation = :operation AND idempotency_key = {{key}}"""
ARGUMENTS = ":tenant, {key}, :amount, :currency, :details, :operation"


@dataclasses.dataclass(frozen=True)
class Contender:
    """A way to do the job. `call` creates or replays; `attempt` and `caught` meet a conflict."""

    name: str
    about: str
    table: str
    call: str
    attempt: str = ""
    caught: str = ""
    works: tuple = ("create", "replay", "mix", "hot")
    needs: str = "SELECT true"
    settings: tuple = ()
    rows_per_call: int = 1
    ordered_ids: bool = False

    def statements(self, work):
        """Returns the script of one call for a kind of work, or nothing where the contender takes no part in it."""
        if work == "try":
            return self.attempt
        if work == "raise":
            return self.caught
        return self.call if work in self.works else ""


def seed_call(table):
    """The pattern that applications write: each line is a round trip of its own."""
    return f"""\\set inserted 0
BEGIN;
{INSERT.format(table=table)}, 1 AS inserted \\aset
\\if :inserted = 0
{FETCH.format(table=table)};
\\endif
COMMIT;"""


def ledger(name, about, **more):
    """The main call, under some setting."""
    return Contender(
        name, about, "idem_transactions",
        f"SELECT transaction_id, outcome FROM idem_create_transaction({ARGUMENTS});",
        attempt=f"SELECT transaction_id, outcome FROM idem_try_create_transaction({ARGUMENTS});",
        caught=f"SELECT caught.idem({ARGUMENTS});", ordered_ids=True, **more)


# A batch call sends the keys of this many requests; its rates count requests.
BATCH = 1000
BATCH_KEYS = f"(:n::bigint * {BATCH} + g)::text || '-7000-8000-0192f3a47c5e'"

# COPY reads all but the id and the key, which are defaults, from a file in the data directory.
COPIED = "tenant_id, operation, request_hash, hash_version, amount_minor, currency, details"
COPIED_FILE = "copied.txt"

CONTENDERS = [
    Contender("raw", "one prepared INSERT ... ON CONFLICT DO NOTHING RETURNING; no answer for a used key",
              "raw.transactions", INSERT.format(table="raw.transactions") + ";"),
    Contender("select", "a prepared SELECT of the stored row", "raw.transactions",
              FETCH.format(table="raw.transactions") + ";", works=("replay",)),
    Contender("nothing", "a prepared SELECT of a constant: what pgbench and the protocol take", "raw.transactions",
              "SELECT 1;", works=("replay",)),
    Contender("seed", "the application's pattern: BEGIN, INSERT ... ON CONFLICT, SELECT when empty, COMMIT",
              "seed.transactions", seed_call("seed.transactions"), attempt=seed_call("seed.transactions")),
    Contender("plpgsql", "a hand-written PL/pgSQL function, bench/plpgsql.sql", "handwritten.transactions",
              f"SELECT transaction_id, outcome FROM handwritten.create_transaction({ARGUMENTS});",
              caught=f"SELECT caught.plpgsql({ARGUMENTS});"),
    Contender("double entry", "a hand-written PL/pgSQL ledger that books on two accounts, bench/double_entry.sql",
              "double_entry.transfers",
              f"SELECT transaction_id, outcome FROM double_entry.create_transfer({ARGUMENTS});"),
    ledger("idem", "idem_create_transaction"),
    ledger("idem (SPI)", "the same with idem.direct_path = off", settings=("idem.direct_path=off",),
           needs="SELECT EXISTS (SELECT FROM pg_settings WHERE name = 'idem.direct_path')"),
    Contender("attached", "idem_insert into an attached table like the ledger", "attached.uuid",
              "SELECT outcome, \"row\" FROM idem_insert('attached.uuid', :tenant, {key}, :row, :operation);",
              attempt="SELECT outcome, \"row\" "
              "FROM idem_try_insert('attached.uuid', :tenant, {key}, :row, :operation);",
              caught="SELECT caught.attached(:tenant, {key}, :row, :operation);"),
    Contender("raw (batch)", f"one INSERT of {BATCH} rows; per request", "raw.transactions",
              INSERT.format(table="raw.transactions").replace("VALUES (", "SELECT ").replace(
                  ":details)", f":details FROM generate_series(1, {BATCH}) g").replace("{key}", BATCH_KEYS) + ";",
              works=("create",), rows_per_call=BATCH),
    Contender("copy (batch)", f"COPY of {BATCH} rows from a file; per row", "raw.transactions",
              f"COPY raw.transactions ({COPIED}) FROM '{COPIED_FILE}';", works=("create",), rows_per_call=BATCH),
    Contender("idem (batch)", f"idem_create_transactions of {BATCH} requests; per request", "idem_transactions",
              "SELECT ord, outcome, transaction_id FROM idem_create_transactions(ARRAY[:tenant::text], "
              f"ARRAY(SELECT {BATCH_KEYS} FROM generate_series(1, {BATCH}) g), ARRAY[:amount::bigint], "
              "ARRAY[:currency::text], ARRAY[:details::jsonb], ARRAY[:operation::text], NULL);",
              works=("create",), rows_per_call=BATCH, ordered_ids=True,
              needs="SELECT EXISTS (SELECT FROM pg_proc WHERE proname = 'idem_create_transactions')"),
]


def present(cursor):
    """Returns the contenders that this server has. A call loads the library, which brings its settings."""
    cursor.execute("SELECT idem_version()")
    found = []
    for contender in CONTENDERS:
        cursor.execute(contender.needs)
        if cursor.fetchone()[0]:
            found.append(contender)
    return found


def owner_of(table):
    """Returns the contender that the table was made for: the first one that uses it."""
    return next(contender for contender in CONTENDERS if contender.table == table)
