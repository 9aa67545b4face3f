"""What the tests of the command share: a database of their own, the command, and SQL."""

import json
import os
import pathlib
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[4]
COMMAND = str(ROOT / "client" / "cli" / "idem")
REQUESTS = ROOT / "demo" / "requests.jsonl"
PATIENCE = 60

OUTCOMES = ("created", "replayed", "conflict", "order_taken", "invalid", "unreadable")


def psql(database, statement):
    """Runs SQL as superuser, and returns what it prints."""
    command = ["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", database, "-c", statement]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=PATIENCE).stdout.strip()


class CliCase(unittest.TestCase):
    """A test with a database that has the extension, and a folder."""

    made = 0

    def setUp(self):
        CliCase.made += 1
        self.database = f"cli_{os.getpid()}_{CliCase.made}"
        psql("postgres", f"CREATE DATABASE {self.database}")
        self.addCleanup(psql, "postgres", f"DROP DATABASE {self.database} WITH (FORCE)")
        self.sql("CREATE EXTENSION idem")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def sql(self, statement):
        return psql(self.database, statement)

    def environment(self, **changes):
        return {**os.environ, "PGDATABASE": self.database, **changes}

    def idem(self, *arguments, stdin=b"", cwd=None, **environment):
        """Runs the command to its end; its outputs are text."""
        done = subprocess.run([COMMAND, *map(str, arguments)], input=stdin, capture_output=True, cwd=cwd,
                              env=self.environment(**environment), timeout=PATIENCE)
        done.stdout = done.stdout.decode()
        done.stderr = done.stderr.decode()
        return done

    def start(self, *arguments, **environment):
        """Starts the command with pipes, for tests that do something to it."""
        process = subprocess.Popen([COMMAND, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=self.environment(**environment))
        self.addCleanup(self._end, process)
        return process

    @staticmethod
    def _end(process):
        if process.poll() is None:
            process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            pipe.close()

    def assert_exit(self, done, code):
        self.assertEqual(done.returncode, code, f"stdout: {done.stdout}\nstderr: {done.stderr}")

    def file(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def load(self, *arguments, code, stdin=b"", **environment):
        """Loads with --json; gives the counts that are not 0, and the first lines."""
        done = self.idem("load", "--json", *arguments, stdin=stdin, **environment)
        self.assert_exit(done, code)
        self.report = json.loads(done.stdout)
        self.stderr = done.stderr
        return {outcome: self.report[outcome] for outcome in OUTCOMES if self.report[outcome]}

    def rows(self):
        return int(self.sql("SELECT count(*) FROM idem_transactions"))

    def wait_for(self, condition, what):
        """Waits until a condition holds, and fails where it never does."""
        end = time.monotonic() + PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), end, f"waited in vain until {what}")
            time.sleep(0.02)

    def make_audit_slow(self):
        """Puts a function that takes a minute in the place of the audit of a table."""
        self.sql("ALTER FUNCTION idem_audit_table(regclass, interval, integer) RENAME TO real_audit_table;"
                 "CREATE FUNCTION idem_audit_table(t regclass, OUT severity text, OUT code text, OUT object text,"
                 " OUT finding text, OUT hint text) LANGUAGE sql"
                 " AS 'SELECT pg_sleep(60)::text, $$a$$, $$a$$, $$a$$, $$a$$'")

    def hold_key(self, key):
        """Opens a session that has created a key and does not commit."""
        holder = subprocess.Popen(["psql", "-XAtq", "-d", self.database], stdin=subprocess.PIPE,
                                  stdout=subprocess.DEVNULL, text=True)
        self.addCleanup(holder.wait)
        self.addCleanup(holder.stdin.close)
        holder.stdin.write(f"BEGIN; SELECT idem_create_transaction('t', '{key}', 1, 'EUR');\n")
        holder.stdin.flush()
        self.wait_for(lambda: self.sql("SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction'"
                                       " AND datname = current_database()") == "1", "the key is held")
        return holder


def line(key, **members):
    """A line of a file of requests."""
    request = {"tenant_id": "t", "idempotency_key": key, "amount_minor": 100, "currency": "EUR", **members}
    return (json.dumps(request) + "\n").encode()
