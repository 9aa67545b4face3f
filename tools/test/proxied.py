"""What the tests of the fault proxy share: the proxy, a client that speaks the protocol octet by octet, a table."""

import contextlib
import getpass
import json
import os
import select
import socket
import struct
import subprocess
import time
import unittest

if "PGHOST" not in os.environ or "PGPORT" not in os.environ:
    raise unittest.SkipTest("there is no server: run it with scripts/with-server")

import psycopg2
from psycopg2 import OperationalError

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PROGRAM = os.environ.get("FAULT_PROXY", os.path.join(ROOT, "tools", "fault_proxy"))
PATIENCE = 20  # seconds for what must happen
SILENCE = 0.3  # seconds in which nothing must come
TABLE = "fault_proxy_test"


def until(condition):
    """Waits for a condition, and returns its value."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if value := condition():
            return value
        time.sleep(0.01)
    raise AssertionError("it did not happen")


class Proxy:
    """A running proxy, told what to do by control lines."""

    def __init__(self, *options, host=None, port=None):
        host = host or os.environ["PGHOST"]
        command = [PROGRAM, host, str(port or os.environ["PGPORT"]), "--control", *options]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self.unread = b""
        self.faults = []
        self.port = int(self.line())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.stdout.close()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise

    def line(self):
        """The next line that the proxy prints."""
        while b"\n" not in self.unread:
            if not select.select([self.process.stdout], [], [], PATIENCE)[0]:
                raise AssertionError("the proxy says nothing")
            octets = os.read(self.process.stdout.fileno(), 65536)
            if not octets:
                raise AssertionError("the proxy has ended")
            self.unread += octets
        line, self.unread = self.unread.split(b"\n", 1)
        return line.decode()

    def tell(self, line):
        """Gives a control line, and returns the answer."""
        self.process.stdin.write(line.encode() + b"\n")
        while (answer := self.line()).startswith("{"):
            self.faults.append(json.loads(answer))
        return answer

    def order(self, line):
        """Gives a control line, which must be obeyed."""
        if (answer := self.tell(line)) != "ok":
            raise AssertionError(f"{line}: {answer}")

    def fault(self):
        """The next fault that was reported and not yet asked for."""
        if not self.faults:
            self.faults.append(json.loads(self.line()))
        return self.faults.pop(0)

    def all_faults(self):
        """All faults that were reported up to now and not yet asked for."""
        self.order("clear")
        faults, self.faults = self.faults, []
        return faults

    def connect(self, **options):
        """A connection of libpq through the proxy."""
        return psycopg2.connect(host="127.0.0.1", port=self.port, application_name=TABLE, **options)

    def files(self):
        """How many files the proxy has open."""
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def used(self):
        """The seconds of processor time that it has used."""
        with open(f"/proc/{self.process.pid}/stat", encoding="utf-8") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def peak(self):
        """The most memory that it has had, in KB."""
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))


def message(kind, body=b""):
    """A message of the protocol."""
    return kind + struct.pack("!I", len(body) + 4) + body


def query(text):
    """A statement of the simple protocol."""
    return message(b"Q", text.encode() + b"\0")


def call(text):
    """A statement of the extended protocol, without Sync."""
    return (message(b"P", b"\0" + text.encode() + b"\0\0\0") + message(b"B", bytes(8)) + message(b"D", b"P\0")
            + message(b"E", bytes(5)))


SYNC = message(b"S")


class Wire:
    """A client that shows what arrives, octet by octet."""

    def __init__(self, port, startup=True):
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.octets = b""
        self.key = None
        if startup:
            self.begin()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def begin(self):
        """Opens a session."""
        try:
            self.send(self.startup())
            for kind, body in self.until_ready():
                if kind == "K":
                    self.key = body
        except BaseException:
            self.socket.close()
            raise

    @staticmethod
    def startup():
        """What opens a session."""
        user = os.environ.get("PGUSER", getpass.getuser())
        words = ("user", user, "database", os.environ.get("PGDATABASE", user), "application_name", TABLE)
        body = struct.pack("!I", 3 << 16) + b"".join(word.encode() + b"\0" for word in words) + b"\0"
        return struct.pack("!I", len(body) + 4) + body

    def send(self, octets):
        self.socket.sendall(octets)

    def next(self):
        """The next message, as kind and body; None at the end."""
        while len(self.octets) < 5 or len(self.octets) < 1 + struct.unpack("!I", self.octets[1:5])[0]:
            received = self.socket.recv(65536)
            if not received:
                return None
            self.octets += received
        end = 1 + struct.unpack("!I", self.octets[1:5])[0]
        kind, body, self.octets = chr(self.octets[0]), self.octets[5:end], self.octets[end:]
        return kind, body

    def until_ready(self):
        """All messages up to ReadyForQuery."""
        messages = []
        while not messages or messages[-1][0] != "Z":
            if (one := self.next()) is None:
                raise AssertionError("the connection was closed")
            messages.append(one)
        return messages

    def ask(self, octets):
        """Sends, and returns the command tags of the answer."""
        self.send(octets)
        return [body[:-1].decode() for kind, body in self.until_ready() if kind == "C"]

    def rest(self):
        """All that still arrives before the connection is closed."""
        while received := self.socket.recv(65536):
            self.octets += received
        octets, self.octets = self.octets, b""
        return octets

    def silent(self):
        """Whether the connection is open, and nothing arrives."""
        return not self.octets and not select.select([self.socket], [], [], SILENCE)[0]


class ServerTest(unittest.TestCase):
    """A test with a table on a real server, and proxies in front of it."""

    @classmethod
    def setUpClass(cls):
        cls.direct = psycopg2.connect("")
        cls.direct.autocommit = True
        cls.run_direct(f"DROP TABLE IF EXISTS {TABLE}")
        cls.run_direct(f"CREATE TABLE {TABLE} (n int UNIQUE DEFERRABLE INITIALLY DEFERRED)")

    @classmethod
    def tearDownClass(cls):
        cls.run_direct(f"DROP TABLE {TABLE}")
        cls.direct.close()

    def setUp(self):
        self.settle()
        self.run_direct(f"TRUNCATE {TABLE}")
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)

    @classmethod
    def run_direct(cls, statement):
        """Runs a statement without a proxy, and returns its rows."""
        with cls.direct.cursor() as cursor:
            cursor.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def proxy(self, *options, **target):
        return self.stack.enter_context(Proxy(*options, **target))

    def wire(self, proxy, **options):
        return self.stack.enter_context(Wire(proxy.port, **options))

    def sessions(self):
        """The states of the sessions that the server has from this test."""
        return [row[0] for row in self.run_direct(
            f"SELECT state FROM pg_stat_activity WHERE application_name = '{TABLE}' ORDER BY backend_start")]

    def terminate(self):
        """Ends the sessions of this test from the server's side."""
        self.run_direct(
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '{TABLE}'")

    def settle(self):
        """Waits until no session of the test is left: nothing can be stored any more."""
        until(lambda: not self.sessions())

    def stored(self):
        """The rows that there are."""
        return [row[0] for row in self.run_direct(f"SELECT n FROM {TABLE} ORDER BY n")]

    def assert_fault(self, proxy, fault, point, answer=""):
        """The proxy reports this fault next."""
        reported = proxy.fault()
        self.assertEqual((reported["fault"], reported["point"], reported["answer"]), (fault, point, answer))
        return reported


def insert(number):
    """A statement that stores a number."""
    return f"INSERT INTO {TABLE} VALUES ({number})"
