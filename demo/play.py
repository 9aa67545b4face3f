"""Plays a file of requests through four application instances that race and die, and checks what is left.

usage: play.py [--seed N] [--seconds N] [--kills N] [REQUESTS]
"""

import argparse
import os
import sys
import tempfile

import psycopg2

import director
import requestfile
import verdict

INTERRUPTED = 130
FOLDER = os.path.dirname(os.path.abspath(__file__))


def parse_arguments():
    parser = argparse.ArgumentParser(description="Play requests through racing, dying instances; check the ledger.")
    parser.add_argument("requests", nargs="?", default=os.path.join(FOLDER, "requests.jsonl"))
    parser.add_argument("--seed", type=int, default=1, help="decides twins, kill times and victims")
    parser.add_argument("--seconds", type=float, default=20, help="how long the sending takes")
    parser.add_argument("--kills", type=int, default=8, help="how many instances are killed with kill -9")
    return parser.parse_args()


class Progress:
    """One line that is rewritten on a terminal; elsewhere a new line every few seconds."""

    def __init__(self):
        self.tty = sys.stdout.isatty()
        self.interval = 0.2 if self.tty else 4
        self.next = self.interval

    def __call__(self, now, stage):
        if now >= self.next:
            self.next = now + self.interval
            self.show(now, stage)

    def show(self, now, stage):
        """Prints how far the play is."""
        answers = sum(len(instance.answered - {None}) for instance in stage.instances.values())
        calls = 2 * len(stage.requests)
        text = f"{now:5.0f} s   {answers:6,} of {calls:,} calls answered   {stage.kills} instances killed"
        print(f"\r{text}" if self.tty else text, end="" if self.tty else "\n", flush=True)

    def end(self):
        """Leaves the rewritten line."""
        if self.tty:
            print()


def read_ledger():
    """Returns the rows that the play has left."""
    with psycopg2.connect("") as connection, connection.cursor() as cursor:
        cursor.execute(verdict.LEDGER_ROWS)
        return cursor.fetchall()


def install_extension():
    with psycopg2.connect("") as connection, connection.cursor() as cursor:
        cursor.execute("CREATE EXTENSION idem")


def print_table(lines):
    """Prints the comparison, and returns True where every line agrees."""
    print(f"\n{'':40}{'found':>8}{'must be':>10}")
    for name, found, expected in lines:
        print(f"{name:40}{found:8,}{expected:10,}{'' if found == expected else '   DIFFERS'}")
    return all(found == expected for _, found, expected in lines)


def main():
    options = parse_arguments()
    requests = requestfile.read_requests(options.requests)
    scopes = len({request.scope for request in requests})
    tampered = sum(request.tampered for request in requests)
    print(f"The file: {len(requests):,} requests for {scopes:,} business transactions; "
          f"{len(requests) - scopes - tampered:,} honest retries, {tampered} with changed content under a used key.")
    print(f"Each is sent by two of {len(director.INSTANCES)} instances, {director.TWIN_DELAY * 1000:.0f} ms apart; "
          f"{options.kills} times an instance is killed with kill -9 (seed {options.seed}).")
    install_extension()
    with tempfile.TemporaryDirectory() as folder:
        stage = director.Director(requests, options.requests, folder, options.seed, options.seconds, options.kills)
        progress = Progress()
        stage.play(progress, patience=options.seconds * 3 + 30)
        progress.end()
        calls = verdict.Calls(requests, [instance.events for instance in stage.instances.values()])
    agrees = print_table(verdict.compare(requests, calls, read_ledger()))
    print(f"\n{stage.kills} kills cut off {stage.cut_off} calls without an answer. {len(calls.died_created)} of them "
          "had created their transaction,\nand the answer died with the instance: sent again, they were replayed.")
    for answer in calls.unexpected[:3]:
        print(f"an answer that nobody expects: {answer}")
    print("Every figure agrees." if agrees else "Figures DIFFER.")
    return 0 if agrees else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (director.Stuck, psycopg2.Error) as failure:
        sys.exit(f"\nthe play stopped: {failure}")
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
