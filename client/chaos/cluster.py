"""Two PostgreSQL servers, of which one is the primary and the other one its synchronous standby."""

import os
import shutil
import signal
import subprocess

from processes import StageError, children, kill, kill_family, start, wait_until

SETTINGS = """
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
# Only processes are killed here, never the machine: what was written stays.
fsync = off
shared_buffers = '64MB'
max_connections = 150
wal_keep_size = '1GB'
wal_retrieve_retry_interval = '200ms'
synchronous_commit = on
synchronous_standby_names = 'FIRST 1 (server_a, server_b)'
# A session whose client is behind a dead connection shall not hold its key for long.
idle_in_transaction_session_timeout = '3s'
client_connection_check_interval = '500ms'
log_line_prefix = '%m [%p] %a '
log_checkpoints = off
"""


class Server:
    """One of the two, with a data folder and a port that stay the same."""

    def __init__(self, name, folder, port, bin_folder):
        self.name = name
        self.port = port
        self.data = os.path.join(folder, f"server_{name}")
        self.bin = bin_folder
        self.process = None
        self.log = open(os.path.join(folder, f"server_{name}.log"), "ab")

    def program(self, name):
        """Returns the path of a program of this release of PostgreSQL."""
        return os.path.join(self.bin, name)

    def run(self, *command):
        """Runs a program of PostgreSQL to its end, and raises StageError where it fails."""
        done = subprocess.run([self.program(command[0]), *command[1:]], stdin=subprocess.DEVNULL, stdout=self.log,
                              stderr=self.log, timeout=120, check=False)
        if done.returncode != 0:
            raise StageError(f"{command[0]} failed with status {done.returncode}; see {self.log.name}")

    def create(self):
        """Makes a new cluster."""
        self.run("initdb", "-D", self.data, "-U", "postgres", "-E", "UTF8", "--locale=C", "-N", "-A", "trust")
        with open(os.path.join(self.data, "postgresql.conf"), "a", encoding="ascii") as file:
            file.write(SETTINGS)

    def copy(self, primary, replication_port):
        """Becomes a new standby of the primary, which it reaches by some other port; whatever it was before."""
        shutil.rmtree(self.data, ignore_errors=True)
        self.run("pg_basebackup", "-D", self.data, "-d", primary.conninfo(), "-X", "stream", "-c", "fast", "--no-sync")
        with open(os.path.join(self.data, "postgresql.auto.conf"), "a", encoding="ascii") as file:
            file.write(f"primary_conninfo = 'host=127.0.0.1 port={replication_port} user=postgres connect_timeout=2 "
                       f"application_name=server_{self.name}'\n")
        with open(os.path.join(self.data, "standby.signal"), "w", encoding="ascii"):
            pass

    def conninfo(self):
        """Returns how to connect without anything in between."""
        return f"host=127.0.0.1 port={self.port} user=postgres connect_timeout=2"

    def launch(self):
        """Starts the server; does not wait until it serves."""
        # SIGQUIT is an immediate shutdown: the children go, too.
        self.process = start([self.program("postgres"), "-D", self.data, "-p", str(self.port)], self.log,
                             death_signal=signal.SIGQUIT)

    def crash(self):
        """Kills the postmaster and all its children."""
        kill_family(self.process)
        self.process = None

    def stop(self):
        """Ends the server, in whatever state it is."""
        if self.process is not None:
            self.freeze(False)
            self.process.send_signal(signal.SIGQUIT)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.crash()
        self.log.close()

    def family(self):
        """Returns the ids of the processes of the running server."""
        return [self.process.pid, *children(self.process.pid)]

    def freeze(self, frozen):
        """Stops all processes where they are, or lets them go on."""
        for pid in self.family():
            kill(pid, signal.SIGSTOP if frozen else signal.SIGCONT)

    def query(self, statement, seconds=10):
        """Returns what a statement gives, as text, or None where the server does not answer it."""
        try:
            done = subprocess.run([self.program("psql"), "-X", "-A", "-t", "-q", "-d", self.conninfo(), "-c", statement],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.log, timeout=seconds,
                                  check=False, text=True)
        except subprocess.TimeoutExpired:
            return None
        return done.stdout.strip() if done.returncode == 0 else None


class Cluster:
    """The pair, and who of them is what."""

    def __init__(self, folder, ports, bin_folder, make_proxy):
        self.primary = Server("a", folder, ports[0], bin_folder)
        self.standby = Server("b", folder, ports[1], bin_folder)
        self.servers = [self.primary, self.standby]
        # The standby follows the primary through it.
        self.replication = make_proxy("replication", self.primary.port)

    def create(self):
        """Makes and starts both, with the extension in the database postgres."""
        self.primary.create()
        self.primary.launch()
        self.wait_for_primary()
        # The standby that a commit waits for is not there yet.
        if self.primary.query("SET synchronous_commit = local; CREATE EXTENSION idem", 60) is None:
            raise StageError(f"could not create the extension; see {self.primary.log.name}")
        self.rebuild_standby()

    def wait_for_primary(self):
        """Waits until the primary serves writes."""
        wait_until(lambda: self.primary.query("SELECT pg_is_in_recovery()", 3) == "f", 60, "the primary")

    def rebuild_standby(self):
        """Makes a new standby of the primary, in the place of the server that is not the primary."""
        self.replication.heal()
        self.replication.tell(f"target 127.0.0.1 {self.primary.port}")
        self.replication.tell("cut")
        self.standby.copy(self.primary, self.replication.port)
        self.standby.launch()

    def has_all(self, position):
        """Tells whether the standby is the one that commits wait for, and has the log up to a position."""
        return self.primary.query(
            f"SELECT flush_lsn >= '{position}' FROM pg_stat_replication WHERE state = 'streaming' "
            f"AND sync_state = 'sync' AND application_name = 'server_{self.standby.name}'", 3) == "t"

    def wait_for_sync(self):
        """Waits until the standby could take over without a loss: it has all that anybody can see at this moment."""
        position = self.primary.query("SELECT pg_current_wal_flush_lsn()")
        wait_until(lambda: self.has_all(position), 60, "the synchronous standby")

    def fail_over(self):
        """Makes the standby the primary. The old primary must be dead; it never comes back as what it was."""
        if self.primary.process is not None:
            raise StageError("there would be two primaries")
        self.primary, self.standby = self.standby, self.primary
        self.primary.run("pg_ctl", "promote", "-D", self.primary.data, "-w", "-t", "60")

    def partition_standby(self, parted):
        """Loses everything between the two servers, or lets the standby connect anew."""
        self.replication.tell("hold on" if parted else "hold off")
        if not parted:
            self.replication.tell("cut")

    def stop(self):
        """Ends both servers."""
        for server in self.servers:
            server.stop()
