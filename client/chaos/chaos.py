"""Directs the play: starts servers, proxies, PgBouncer, Redis and the clients, makes faults, and has the rest checked.

usage: chaos.py --work FOLDER --idem PROGRAM --proxy PROGRAM --pg-bin FOLDER [--faults N] [--seed N]
                [--lossy-failovers] [--no-redis]

Prints the Test Anything Protocol: a test for each property, and two about the faults. Exits with 1 where one fails.
"""

import argparse
import dataclasses
import getpass
import os
import random
import shutil
import signal
import subprocess
import sys
import time

from cluster import Cluster
from faults import Injector
from processes import StageError, free_port, start
from schedule import DECK, cards
from services import PgBouncer, Proxy, Redis

PROCESSES = 6
LANES = 3
SETTLE = 240


def parse_arguments():
    parser = argparse.ArgumentParser(description="Let clients play while everything around them fails; check the rest.")
    parser.add_argument("--work", required=True, help="a folder for everything that is needed")
    parser.add_argument("--idem", required=True, help="the program idem")
    parser.add_argument("--proxy", required=True, help="the program fault_proxy")
    parser.add_argument("--pg-bin", required=True, help="the folder with PostgreSQL's programs")
    parser.add_argument("--faults", type=int, default=2000, help="how many faults have to happen")
    parser.add_argument("--seed", type=int, default=0, help="repeats a schedule of faults and the calls")
    parser.add_argument("--lossy-failovers", action="store_true",
                        help="promote standbys also while nothing reaches them; docs/verify.md tells what that shows")
    parser.add_argument("--no-redis", action="store_true", help="where the program has no cache")
    return parser.parse_args()


def find_program(*names):
    """Returns the path of the first program that is there, also of one that Debian has for administrators alone."""
    for name in names:
        path = shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin")
        if path is not None:
            return path
    raise StageError(f"there is no {names[0]}: scripts/setup client installs it")


class Stage:
    """Everything that runs, and in which order it ends."""

    def __init__(self, options):
        self.options = options
        self.folder = options.work
        self.running = []
        self.log = open(os.path.join(self.folder, "stage.log"), "ab", buffering=0)
        self.play_log = open(os.path.join(self.folder, "play.log"), "ab", buffering=0)

    def add(self, part):
        """Notes that something runs that has to be ended."""
        self.running.append(part)
        return part

    def build(self):
        """Starts everything, the clients last."""
        options = self.options
        ports = [free_port(), free_port()]

        def make_proxy(name, port):
            return self.add(Proxy(options.proxy, name, port, self.log))

        cluster = self.add(Cluster(self.folder, ports, options.pg_bin, make_proxy))
        cluster.create()
        proxies = {server.name: make_proxy(server.name, server.port) for server in cluster.servers}
        bouncer_proxy = make_proxy("bouncer", cluster.primary.port)
        pgbouncer = self.add(PgBouncer(find_program("pgbouncer"), self.folder, bouncer_proxy.port, self.log))
        redis = None
        if not options.no_redis:
            redis = self.add(Redis(find_program("redis-server", "redis-check-rdb"), self.folder, self.log))
        verifier = self.start_play(cluster, proxies, pgbouncer, redis)
        return Injector(cluster, proxies, bouncer_proxy, pgbouncer, redis, verifier)

    def start_play(self, cluster, proxies, pgbouncer, redis):
        """Starts `idem verify`, which starts the clients. A third of them goes through PgBouncer."""
        hosts = ",".join("127.0.0.1" for _ in cluster.servers)
        ports = ",".join(str(proxies[server.name].port) for server in cluster.servers)
        direct = f"host={hosts} port={ports} user=postgres dbname=postgres target_session_attrs=read-write"
        pooled = f"host=127.0.0.1 port={pgbouncer.port} user=postgres dbname=postgres"
        command = [self.options.idem, "--dsn", direct, "verify", "--until-eof", "--keep", "--tap", "--quiet",
                   "--faults-rate", "0", "--processes", str(PROCESSES), "--lanes", str(LANES),
                   "--seed", str(self.options.seed), "--history", os.path.join(self.folder, "history"),
                   "--play-dsn", direct, "--play-dsn", direct, "--play-dsn", pooled]
        if redis is not None:
            command += ["--redis", f"127.0.0.1:{redis.port}"]
        play = start(command, self.play_log, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.running.append(Play(play))
        return play

    def stop(self):
        """Ends everything, whatever state it is in."""
        for part in reversed(self.running):
            try:
                part.stop()
            except Exception as failure:  # pylint: disable=broad-except  # the others have to end as well
                print(f"# could not end {type(part).__name__}: {failure}", file=sys.stderr)


class Play:
    """The clients, as something that ends."""

    def __init__(self, process):
        self.process = process

    def stop(self):
        """Kills the supervisor, with whom the clients die."""
        self.process.kill()
        self.process.wait()


def tell(start_time, text):
    """Prints a comment with the time since the start."""
    print(f"# {time.monotonic() - start_time:6.1f} s  {text}", flush=True)


def kinds_of(options):
    """Returns the kinds of faults that can be made on this stage."""
    left_out = ("crash_redis", "flush_redis", "freeze_redis") if options.no_redis else ()
    return [kind for kind in DECK if kind not in left_out]


def make_faults(options, injector, start_time):
    """Makes faults until so many have happened."""
    next_report = start_time + 10
    for card in cards(options.seed, kinds_of(options)):
        total = sum(injector.counts().values())
        if total >= options.faults:
            return
        if injector.verifier.poll() is not None:
            raise StageError(f"the play ended by itself with status {injector.verifier.returncode}")
        if time.monotonic() > next_report:
            next_report += 10
            tell(start_time, f"{total} faults")
        time.sleep(card.pause)
        if options.lossy_failovers and card.kind == "fail_over":
            card = dataclasses.replace(card, kind="lossy_fail_over")
        if card.kind in ("fail_over", "lossy_fail_over", "restart_primary", "crash_session"):
            tell(start_time, card.kind.replace("_", " "))
        injector.make(card)


def print_result(passed, number, text):
    """Prints one more test."""
    print(f"{'ok' if passed else 'not ok'} {number} - {text}", flush=True)
    return passed


def conclude(options, injector, output):
    """Prints the verdict on the play and on the faults, and tells whether all is well."""
    print(output, end="")
    number = sum(line.startswith(("ok ", "not ok ")) for line in output.splitlines())
    counts = injector.counts()
    for kind in sorted(counts):
        print(f"# {counts[kind]:5} {kind}")
    counts["fail_over"] += counts["lossy_fail_over"]
    missing = [kind for kind in kinds_of(options) if counts[kind] == 0]
    enough = print_result(sum(injector.counts().values()) >= options.faults, number + 1, f"{options.faults} faults happened")
    each = print_result(not missing, number + 2, "each kind of fault happened")
    if missing:
        print(f"# missing: {', '.join(missing)}")
    return injector.verifier.returncode == 0 and number > 0 and enough and each


def direct(options):
    """Plays, and returns whether all is well."""
    start_time = time.monotonic()
    stage = Stage(options)
    try:
        injector = stage.build()
        tell(start_time, f"playing with seed {options.seed}")
        make_faults(options, injector, start_time)
        tell(start_time, "healing")
        injector.heal()
        tell(start_time, "settling")
        output, _ = injector.verifier.communicate(timeout=SETTLE)
        return conclude(options, injector, output)
    finally:
        stage.stop()


def main():
    options = parse_arguments()
    options.seed = options.seed or random.SystemRandom().randrange(1, 1_000_000)
    print(f"# seed {options.seed}: scripts/chaos --faults {options.faults} --seed {options.seed}", flush=True)
    if getpass.getuser() == "root" or os.getuid() == 0:
        raise StageError("a PostgreSQL server cannot run as root")

    def interrupt(number, _frame):
        raise KeyboardInterrupt(number)

    def hang(_number, _frame):
        raise StageError("the play takes too long")

    signal.signal(signal.SIGTERM, interrupt)
    signal.signal(signal.SIGALRM, hang)
    signal.alarm(300 + SETTLE + 2 * options.faults)
    return 0 if direct(options) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (StageError, subprocess.TimeoutExpired) as failure:
        print(f"not ok 1 - the stage works: {failure}", flush=True)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
