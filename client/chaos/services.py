"""What stands around the servers: the proxies that make connections fail, PgBouncer and Redis."""

import collections
import json
import os
import signal
import socket
import subprocess
import threading

from processes import StageError, accepts, free_port, kill, start, wait_until

PGBOUNCER = """
[databases]
postgres = host=127.0.0.1 port={server_port} dbname=postgres user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
max_client_conn = 200
default_pool_size = 20
query_wait_timeout = 5
server_connect_timeout = 2
server_login_retry = 1
server_check_delay = 1
ignore_startup_parameters = extra_float_digits,options
"""


class Proxy:
    """A fault proxy in front of some port. It counts what it has done, by the name of the fault."""

    def __init__(self, program, name, target_port, log):
        self.name = name
        self.counts = collections.Counter()
        self.process = start([program, "127.0.0.1", str(target_port), "--control"], log, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True, bufsize=1)
        self.port = int(self.process.stdout.readline())
        self.answers = []
        self.log = log
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            if line.startswith("{"):
                fault = json.loads(line)
                # What was done by a control line is counted once by who asked for it, not for each connection.
                if fault["point"] != "control":
                    self.counts[fault["fault"]] += 1
                self.log.write(f"{self.name}: {line}".encode())
            elif not line.startswith("ok"):
                self.answers.append(line.strip())

    def tell(self, line):
        """Sends a control line."""
        if self.answers:
            raise StageError(f"the proxy {self.name} said {self.answers[0]}")
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def heal(self):
        """Lets everything pass again."""
        for line in ("clear", "hold off", "pause off", "refuse off"):
            self.tell(line)

    def stop(self):
        """Ends the proxy."""
        self.process.kill()
        self.process.wait()


class PgBouncer:
    """PgBouncer in transaction mode."""

    def __init__(self, program, folder, server_port, log):
        self.program = program
        self.log = log
        self.port = free_port()
        self.process = None
        self.settings = os.path.join(folder, "pgbouncer.ini")
        with open(self.settings, "w", encoding="ascii") as file:
            file.write(PGBOUNCER.format(server_port=server_port, port=self.port))
        self.launch()

    def launch(self):
        """Starts it."""
        self.process = start([self.program, self.settings], self.log)
        wait_until(lambda: accepts(self.port), 20, "PgBouncer")

    def crash(self):
        """Kills it with all its connections, and starts it again."""
        self.process.kill()
        self.process.wait()
        self.launch()

    def stop(self):
        """Ends it."""
        self.process.kill()
        self.process.wait()


class Redis:
    """A Redis server that keeps nothing on disk."""

    def __init__(self, program, folder, log):
        self.program = program
        self.folder = folder
        self.log = log
        self.port = free_port()
        self.process = None
        self.launch()

    def launch(self):
        """Starts it, empty."""
        # Debian's redis-check-rdb is the server, too, and behaves as it is called.
        self.process = start(["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "",
                              "--appendonly", "no", "--dir", self.folder], self.log, executable=self.program)
        wait_until(lambda: accepts(self.port), 20, "Redis")

    def crash(self):
        """Kills it."""
        self.process.kill()
        self.process.wait()

    def flush(self):
        """Makes it forget everything."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=5) as connection:
            connection.sendall(b"FLUSHALL\r\n")
            return connection.recv(100).startswith(b"+OK")

    def freeze(self, frozen):
        """Stops it where it is, or lets it go on."""
        kill(self.process.pid, signal.SIGSTOP if frozen else signal.SIGCONT)

    def stop(self):
        """Ends it."""
        self.process.kill()
        self.process.wait()
