"""Faults at other points than commits, and what control lines do to whole connections."""

import errno
import os
import socket
import struct
import subprocess
import sys
import time
import unittest

from proxied import PATIENCE, PROGRAM, SYNC, OperationalError, ServerTest, Wire, call, insert, query, until


class StatementFaults(ServerTest):

    def test_cut_statement(self):
        proxy = self.proxy()
        wire = self.wire(proxy)
        proxy.order("next cut_statement statement")
        wire.ask(query("BEGIN"))
        wire.send(query(insert(1)))
        self.assertEqual(wire.rest(), b"")
        self.assert_fault(proxy, "cut_statement", "statement")
        self.settle()
        self.assertEqual(self.stored(), [])

    def test_cut_statement_spares_commits(self):
        proxy = self.proxy()
        wire = self.wire(proxy)
        wire.ask(query("BEGIN"))
        wire.ask(query(insert(1)))
        proxy.order("next cut_statement")
        self.assertEqual(wire.ask(query("COMMIT")), ["COMMIT"])
        self.assertEqual(self.stored(), [1])
        wire.send(query("BEGIN"))
        self.assertEqual(wire.rest(), b"")
        self.assert_fault(proxy, "cut_statement", "begin")

    def test_the_answer_to_a_statement_can_be_lost(self):
        proxy = self.proxy()
        wire = self.wire(proxy)
        wire.ask(call("BEGIN") + SYNC)
        proxy.order("next swallow_answer statement")
        wire.send(call(insert(1)) + SYNC)
        self.assert_fault(proxy, "swallow_answer", "statement", "INSERT 0 1")
        # All of it: what the server has said to Parse is of the same answer.
        self.assertTrue(wire.silent())
        self.assertEqual(self.sessions(), ["idle in transaction"])
        wire.socket.close()
        self.settle()
        self.assertEqual(self.stored(), [])

    def test_cut_connect(self):
        proxy = self.proxy()
        proxy.order("next cut_connect")
        with self.assertRaises(OperationalError):
            proxy.connect()
        self.assert_fault(proxy, "cut_connect", "connect")
        proxy.connect().close()

    def test_a_connect_that_never_ends(self):
        proxy = self.proxy()
        proxy.order("next half_open connect")
        wire = self.wire(proxy, startup=False)
        wire.send(Wire.startup())
        self.assert_fault(proxy, "half_open", "connect")
        self.assertTrue(wire.silent())
        self.assertEqual(self.sessions(), [])


class Cancels(ServerTest):

    def sleeping(self, proxy):
        wire = self.wire(proxy)
        wire.send(query("SELECT pg_sleep(60)"))
        until(lambda: self.sessions() == ["active"])
        return wire

    def cancel(self, proxy, key):
        wire = self.wire(proxy, startup=False)
        wire.send(struct.pack("!II", 16, 80877102) + key)
        return wire

    def test_a_cancel_passes(self):
        proxy = self.proxy()
        sleeping = self.sleeping(proxy)
        self.assertEqual(self.cancel(proxy, sleeping.key).rest(), b"")
        error = dict(sleeping.until_ready())["E"]
        self.assertIn(b"C57014\0", error)

    def test_a_cancel_can_be_lost(self):
        for order in ("next half_open cancel", "hold on"):
            proxy = self.proxy()
            sleeping = self.sleeping(proxy)
            proxy.order(order)
            self.assertTrue(self.cancel(proxy, sleeping.key).silent())
            self.assertEqual(self.sessions(), ["active"])
            proxy.order("hold off")
            proxy.order("cut")
            self.terminate()
            self.settle()


class Networks(ServerTest):

    def test_cut(self):
        proxy = self.proxy()
        wires = [self.wire(proxy) for _ in range(3)]
        wires[0].ask(query("BEGIN"))
        wires[0].ask(query(insert(1)))
        proxy.order("cut")
        for wire in wires:
            self.assertEqual(wire.rest(), b"")
        faults = proxy.all_faults()
        self.assertEqual([(fault["connection"], fault["fault"], fault["point"]) for fault in faults],
                         [(1, "cut", "control"), (2, "cut", "control"), (3, "cut", "control")])
        self.settle()
        self.assertEqual(self.stored(), [])
        self.assertEqual(self.wire(proxy).ask(query(insert(2))), ["INSERT 0 1"])

    def test_refuse(self):
        proxy = self.proxy()
        before = self.wire(proxy)
        for _ in range(3):
            proxy.order("refuse on")
            with self.assertRaises(ConnectionRefusedError):
                Wire(proxy.port)
            self.assertEqual(before.ask(query("SELECT 1")), ["SELECT 1"])
            proxy.order("refuse on")
            proxy.order("refuse off")
            proxy.order("refuse off")
            self.assertEqual(self.wire(proxy).ask(query("SELECT 1")), ["SELECT 1"])

    def test_hold_loses_what_is_sent(self):
        proxy = self.proxy()
        spared, idle, busy = (self.wire(proxy) for _ in range(3))
        proxy.order("hold on")
        busy.send(query(insert(1)))
        late = self.wire(proxy, startup=False)
        late.send(Wire.startup())
        self.assertTrue(busy.silent())
        self.assertTrue(late.silent())
        self.assertEqual(self.sessions(), ["idle"] * 3)
        # Not even the end of a connection gets through, whether it was silent before or not.
        busy.socket.close()
        idle.socket.close()
        time.sleep(0.2)
        self.assertEqual(self.sessions(), ["idle"] * 3)
        proxy.order("hold off")
        until(lambda: self.sessions() == ["idle"])
        self.assertTrue(late.silent())
        self.assertEqual(spared.ask(query(insert(2))), ["INSERT 0 1"])
        self.assertEqual(self.wire(proxy).ask(query(insert(3))), ["INSERT 0 1"])
        self.assertEqual(self.stored(), [2, 3])
        self.assertEqual({(fault["connection"], fault["fault"]) for fault in proxy.all_faults()},
                         {(2, "hold"), (3, "hold"), (4, "hold")})

    def test_hold_loses_an_answer(self):
        proxy = self.proxy()
        wire = self.wire(proxy)
        wire.send(query(f"SELECT pg_sleep(0.5); {insert(1)}"))
        until(lambda: self.sessions() == ["active"])
        proxy.order("hold on")
        until(lambda: self.stored() == [1])
        self.assertTrue(wire.silent())

    def test_pause_loses_nothing(self):
        proxy = self.proxy()
        wire = self.wire(proxy)
        proxy.order("pause on")
        wire.send(query(insert(1)))
        late = self.wire(proxy, startup=False)
        late.send(Wire.startup())
        self.assertTrue(wire.silent())
        self.assertTrue(late.silent())
        self.assertEqual(self.stored(), [])
        proxy.order("pause off")
        self.assertEqual([kind for kind, _ in wire.until_ready()], ["C", "Z"])
        late.until_ready()
        self.assertEqual(self.stored(), [1])

    def test_what_a_client_has_sent_may_come_long_after_it_has_gone(self):
        proxy = self.proxy()
        wire = self.wire(proxy)
        wire.ask(query("BEGIN"))
        wire.ask(query(insert(1)))
        proxy.order("pause on")
        wire.send(query("COMMIT"))
        wire.socket.close()
        time.sleep(0.2)
        self.assertEqual(self.sessions(), ["idle in transaction"])
        proxy.order("pause off")
        self.settle()
        self.assertEqual(self.stored(), [1])

    def test_target(self):
        proxy = self.proxy()
        before = self.wire(proxy)
        with socket.socket() as nobody:
            nobody.bind(("127.0.0.1", 0))
            proxy.order(f"target 127.0.0.1 {nobody.getsockname()[1]}")
            with self.assertRaises(OperationalError):
                proxy.connect()
        proxy.order("target /nowhere 1")
        with self.assertRaises(OperationalError):
            proxy.connect()
        proxy.order(f"target 127.0.0.1 {os.environ['PGPORT']}")
        # With a password and a question for TLS, as on a network.
        connection = proxy.connect(sslmode="prefer")
        with connection.cursor() as cursor:
            cursor.execute("SELECT inet_server_port()")
            self.assertEqual(cursor.fetchone(), (int(os.environ["PGPORT"]),))
            cursor.execute(insert(1))
        proxy.order("next cut_after_commit")
        with self.assertRaises(OperationalError):
            connection.commit()
        connection.close()
        self.assertEqual(self.stored(), [1])
        self.assertEqual(before.ask(query(insert(2))), ["INSERT 0 1"])

    def test_control_lines_that_mean_nothing(self):
        proxy = self.proxy()
        for line in ("", "next", "next nothing", "next delay connect 1 1", "next delay 1 connect", "next delay -1",
                     "next delay soon", "next cut_connect commit", "next cut_before_commit statement", "hold",
                     "hold maybe", "refuse on off", "cut 1", "clear all", "target 127.0.0.1", "rate", "rate x",
                     "target no.such.host.invalid 1", "set", "next delay 99999999999", "NEXT delay"):
            self.assertTrue(proxy.tell(line).startswith("error: "), line)
        self.assertEqual(self.wire(proxy).ask(query(insert(1))), ["INSERT 0 1"])
        self.assertEqual(proxy.all_faults(), [])

    def test_a_round_trip_takes_its_time(self):
        wire = self.wire(self.proxy("--round-trip-us", "20000"))
        taken = []
        for _ in range(21):
            start = time.monotonic()
            wire.ask(query("SELECT 1"))
            taken.append(time.monotonic() - start)
        # Other work on the machine may slow some of them.
        self.assertGreaterEqual(min(taken), 0.020)
        self.assertLess(min(taken), 0.030)


class Processes(ServerTest):

    def test_it_ends_with_its_parent(self):
        script = ("import subprocess, sys\n"
                  "proxy = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, text=True)\n"
                  "print(proxy.pid, proxy.stdout.readline().strip(), flush=True)\n"
                  "sys.stdin.read()\n")
        with subprocess.Popen([sys.executable, "-c", script, PROGRAM, os.environ["PGHOST"], os.environ["PGPORT"]],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
            port = int(parent.stdout.readline().split()[1])
            with Wire(port) as wire:
                self.assertEqual(wire.ask(query("SELECT 1")), ["SELECT 1"])
                parent.kill()
                self.assertEqual(wire.rest(), b"")
            until(lambda: self.refused(port))

    @staticmethod
    def refused(port):
        """Whether nobody listens."""
        with socket.socket() as one:
            return one.connect_ex(("127.0.0.1", port)) == errno.ECONNREFUSED

    def test_it_ends_with_its_control_lines(self):
        proxy = self.proxy()
        wire = self.wire(proxy)
        proxy.process.stdin.write(b"clear\nnonsense\n")
        proxy.process.stdin.close()
        self.assertEqual(proxy.line(), "ok")
        self.assertTrue(proxy.line().startswith("error: "))
        self.assertEqual(proxy.process.wait(PATIENCE), 0)
        self.assertEqual(wire.rest(), b"")

    def test_wrong_arguments(self):
        for arguments in ([], ["127.0.0.1"], ["127.0.0.1", "1", "--faults", "none"], ["no.such.host.invalid", "1"]):
            ended = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=False)
            self.assertEqual((ended.returncode, ended.stdout), (2, ""))
            self.assertIn("usage:", ended.stderr)


if __name__ == "__main__":
    unittest.main()
