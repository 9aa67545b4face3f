"""What only reads, --timeout and a network that swallows what is sent."""

import socket
import sys
import time
import unittest

from cli_case import ROOT, CliCase

sys.path.insert(0, str(ROOT / "tools" / "test"))
from proxied import Proxy  # noqa: E402

TIMEOUT = 0.5
MOST = TIMEOUT + 1.3  # a second in which the server is asked to cancel, and the start of the process
SHOW = ("show", "--tenant", "t", "--key", "k")
AUDIT = ("audit", "--table", "idem_transactions")


class SilentNetworkTest(CliCase):
    def setUp(self):
        super().setUp()
        self.sql("SELECT idem_create_transaction('t', 'k', 1, 'EUR')")
        self.proxy = Proxy()
        self.addCleanup(self.proxy.__exit__)

    def idem_through(self, *arguments, ports=None, **environment):
        """Runs the command through the proxy, and gives how long it took as well."""
        ports = ports or [self.proxy.port]
        start = time.monotonic()
        done = self.idem(*arguments, "--timeout", TIMEOUT, PGHOST=",".join(["127.0.0.1"] * len(ports)),
                         PGPORT=",".join(map(str, ports)), **environment)
        return done, time.monotonic() - start

    def assert_no_connection(self, done, seconds):
        self.assert_exit(done, 3)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr, "idem: could not connect to the server (08001)\n"
                                      "detail: The time for it is over.\n")
        self.assertLess(seconds, MOST)

    def assert_deadline(self, done, seconds):
        self.assert_exit(done, 6)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr, "idem: the deadline passed (57014)\n")
        self.assertLess(seconds, MOST)

    def test_serves_where_nothing_is_lost(self):
        for command in (SHOW, AUDIT):
            done, _ = self.idem_through(*command)
            self.assert_exit(done, 0)

    def test_ends_while_it_connects(self):
        self.proxy.order("hold on")
        for command in (SHOW, AUDIT):
            self.assert_no_connection(*self.idem_through(*command))

    def test_ends_where_no_server_takes_the_connection(self):
        with socket.socket() as full:
            full.bind(("127.0.0.1", 0))
            full.listen(0)
            port = full.getsockname()[1]
            with socket.create_connection(("127.0.0.1", port)):
                self.assert_no_connection(*self.idem_through(*SHOW, ports=[port]))

    def test_ends_after_several_silent_hosts(self):
        self.proxy.order("hold on")
        self.assert_no_connection(*self.idem_through(*SHOW, ports=[self.proxy.port] * 3))

    def test_finds_the_server_behind_a_silent_host(self):
        with Proxy() as second:
            self.proxy.order("hold on")
            done, seconds = self.idem_through(*SHOW, ports=[self.proxy.port, second.port])
        self.assert_exit(done, 0)
        self.assertLess(seconds, MOST)

    def test_ends_while_it_waits_for_an_answer(self):
        for command in (SHOW, AUDIT):
            for number in range(4):  # BEGIN, the settings, the schema, the query
                point = "begin" if number == 0 else "statement"
                for _ in range(number - 1):
                    self.proxy.order("next delay statement 1")
                self.proxy.order(f"next half_open {point}")
                with self.subTest(command=command[0], statement=number):
                    self.assert_deadline(*self.idem_through(*command))
                    self.assertEqual([one["fault"] for one in self.proxy.all_faults()][-1:], ["half_open"])

    def test_ends_where_the_network_fails_under_a_long_query(self):
        self.make_audit_slow()
        process = self.start(*AUDIT, "--timeout", 3, PGHOST="127.0.0.1", PGPORT=str(self.proxy.port))
        start = time.monotonic()
        self.wait_for(lambda: self.sql("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'idem'"
                                       " AND wait_event = 'PgSleep'") == "1", "the audit runs")
        self.proxy.order("hold on")
        _, errors = process.communicate(timeout=20)
        self.assertEqual((process.returncode, errors), (6, b"idem: the deadline passed (57014)\n"))
        self.assertLess(time.monotonic() - start, 3 + 1)

    def test_cancels_what_runs_on_the_server(self):
        self.make_audit_slow()
        self.assert_deadline(*self.idem_through(*AUDIT))
        self.wait_for(lambda: self.sql("SELECT count(*) FROM pg_stat_activity"
                                       " WHERE application_name = 'idem' AND datname = current_database()") == "0",
                      "the session has ended")


class StandInTest(CliCase):
    """Which server is read, and how long each may take to answer."""

    def test_reads_on_any_server_unless_told_otherwise(self):
        self.sql("SELECT idem_create_transaction('t', 'k', 1, 'EUR');"
                 f"ALTER DATABASE {self.database} SET default_transaction_read_only = on")
        self.assert_exit(self.idem(*SHOW), 0)
        self.assert_exit(self.idem(*SHOW, PGTARGETSESSIONATTRS="read-only"), 0)
        self.assert_exit(self.idem(*SHOW, PGTARGETSESSIONATTRS="read-write"), 3)
        self.assert_exit(self.idem(*SHOW, "--dsn", "target_session_attrs=read-write"), 3)

    def test_keeps_to_the_connect_timeout_of_libpq(self):
        with Proxy() as proxy:
            proxy.order("hold on")
            start = time.monotonic()
            done = self.idem(*SHOW, PGHOST="127.0.0.1", PGPORT=str(proxy.port), PGCONNECT_TIMEOUT="2")
        self.assert_exit(done, 3)
        self.assertLess(time.monotonic() - start, 4)


if __name__ == "__main__":
    unittest.main(verbosity=2)
