"""Runs pgbench for one contender at one kind of work, and reads what it reports."""

import contextlib
import dataclasses
import glob
import os
import re
import signal
import subprocess
import tempfile

from contenders import request

# Keys look like UUIDs of version 7: what leads them rises. The other kind is spread over the whole index.
KEYS = {"ordered": "(:n::text || '-7000-8000-0192f3a47c5e')", "random": "md5(:n::text)"}
FIRST = 100_000_000_000
STORED_AMOUNT = 1050
SAMPLED = 0.2

# How each kind of work chooses :n. A client takes every clients-th number of its run.
NEXT = "\\set i :i + 1\n\\set n :start + :i * :clients + :client_id\n"
STORED = "\\set n random(:first, :last)\n"
RETRY = f"""\\set retry random(1, 20)
\\if :retry = 1 and :i > 0
\\set n :start + random(1, :i) * :clients + :client_id
\\else
{NEXT}\\endif
"""
CHOICE = {"create": NEXT, "replay": STORED, "try": STORED, "raise": STORED, "mix": RETRY, "hot": "\\set n :start\n"}


class Failed(Exception):
    """The run did not do what its kind of work must do; its numbers mean nothing."""


@dataclasses.dataclass
class Run:
    """What one run of pgbench found: calls, calls per second, and sampled latencies in microseconds."""

    calls: int
    rate: float
    latencies: list


def read_report(text):
    """Reads the calls and the rate from what pgbench prints at its end."""
    calls = re.search(r"^number of transactions actually processed: (\d+)", text, re.M)
    rate = re.search(r"^tps = ([0-9.]+) \(without initial connection time\)", text, re.M)
    failed = re.search(r"^number of failed transactions: (\d+)", text, re.M)
    if not calls or not rate or (failed and int(failed[1])):
        raise Failed(text)
    return int(calls[1]), float(rate[1])


def read_latencies(lines):
    """Reads the latencies from the lines of pgbench's log: client, number, microseconds, ..."""
    return [int(line.split()[2]) for line in lines]


@contextlib.contextmanager
def child(command, **options):
    """A process with all that it starts in a group of its own, which is gone at the end whatever happens."""
    process = subprocess.Popen(command, start_new_session=True, text=True, **options)
    try:
        yield process
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        raise
    finally:
        process.wait()


def output_of(command, **options):
    """Runs a command, and returns what it prints."""
    with child(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options) as process:
        output, errors = process.communicate()
    if process.returncode != 0:
        raise Failed(f"{command[0]} ended with {process.returncode}:\n{output}{errors}")
    return output


@contextlib.contextmanager
def delayed(microseconds):
    """The address of a proxy that adds a round trip of so many microseconds."""
    proxy = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools", "fault_proxy")
    command = [proxy, "127.0.0.1", os.environ["PGPORT"], "--round-trip-us", str(microseconds)]
    with child(command, stdout=subprocess.PIPE) as process:
        try:
            yield {"PGHOST": "127.0.0.1", "PGPORT": process.stdout.readline().strip()}
        finally:
            process.terminate()


class Driver:
    """Drives one database. Every run that creates takes numbers that no run before has taken."""

    def __init__(self, folder, stored, keys="ordered", database=None):
        self.folder = folder
        self.stored = stored
        self.keys = keys
        self.database = database
        self.start = FIRST + 10 * stored

    def variables(self, work, clients):
        """The values that a script of pgbench sees."""
        self.start += 100_000_000
        values = request(STORED_AMOUNT + 1 if work in ("try", "raise") else STORED_AMOUNT)
        values.update(start=self.start, clients=clients, i=0, first=FIRST + 1, last=FIRST + self.stored)
        return [f"--define={name}={value}" for name, value in values.items()]

    def run(self, contender, work, clients, amount, sync=False, address=None):
        """Runs pgbench; amount is its limit, such as --time=2. Latencies come from a sample of the calls."""
        statements = contender.statements(work).replace("{key}", KEYS[self.keys])
        settings = [f"synchronous_commit={'on' if sync else 'off'}", *contender.settings]
        environment = dict(os.environ, **(address or {}))
        environment["PGOPTIONS"] = " ".join(f"-c {setting}" for setting in settings)
        if self.database:
            environment["PGDATABASE"] = self.database
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            script = os.path.join(folder, "script")
            with open(script, "w", encoding="utf-8") as file:
                file.write(CHOICE[work] + statements + "\n")
            report = output_of([
                "pgbench", "--no-vacuum", "--protocol=prepared", f"--client={clients}", f"--jobs={min(clients, 2)}",
                amount, f"--file={script}", "--log", f"--sampling-rate={SAMPLED}", f"--log-prefix={folder}/log",
                *self.variables(work, clients)], env=environment)
            calls, rate = read_report(report)
            latencies = []
            for log in glob.glob(f"{folder}/log*"):
                with open(log, encoding="utf-8") as lines:
                    latencies += read_latencies(lines)
        rows = contender.rows_per_call
        return Run(calls * rows, rate * rows, latencies)
