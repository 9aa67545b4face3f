"""Processes of the stage: started so that they end with it, found by their parent, killed for good."""

import ctypes
import os
import random
import signal
import socket
import subprocess
import time

PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


class StageError(Exception):
    """The stage itself does not work: no verdict about what is tested."""


def start(command, log, death_signal=signal.SIGKILL, **options):
    """Starts a process in a session of its own, which gets a signal when the director dies, and returns it."""

    def prepare():
        os.setsid()
        _libc.prctl(PR_SET_PDEATHSIG, death_signal)

    options.setdefault("stdin", subprocess.DEVNULL)
    options.setdefault("stdout", log)
    # The child does nothing but this before it becomes the command.
    return subprocess.Popen(command, stderr=log, preexec_fn=prepare, **options)


def children(parent):
    """Returns the ids of the processes that a process has started."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as file:
                    # The command's name is in brackets and may hold anything; behind it: state, parent.
                    fields = file.read().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == parent and fields[0] != "Z":
                found.append(int(name))
    return found


def kill(pid, number):
    """Sends a signal; tells whether the process was there."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def kill_family(process):
    """Kills a process and its children as a failing machine does: none of them can do anything any more."""
    # Stopped first, so that it starts no child that would be missed.
    kill(process.pid, signal.SIGSTOP)
    family = children(process.pid)
    kill(process.pid, signal.SIGKILL)
    for pid in family:
        kill(pid, signal.SIGKILL)
    process.wait()
    wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in family), 10, "the end of killed processes")


def wait_until(condition, seconds, what):
    """Waits until a condition holds, and raises StageError where it does not within the time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise StageError(f"waited {seconds} s in vain for {what}")
        time.sleep(0.05)


def free_port():
    """Returns a port of 127.0.0.1 that nobody uses now, and that no outgoing connection gets by itself later."""
    while True:
        port = random.SystemRandom().randrange(20000, 32000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port


def accepts(port):
    """Tells whether somebody listens on a port."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0
