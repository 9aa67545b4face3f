"""Much data, and faults by chance: what arrives, and that a seed repeats it."""

import random
import threading
import time
import unittest

from proxied import SILENCE, TABLE, Proxy, ServerTest, Wire, insert, query, until


class Data(ServerTest):

    def blocked(self):
        """Whether the server still waits for its client to read, a little later."""
        time.sleep(SILENCE / 10)
        return self.run_direct(f"SELECT wait_event FROM pg_stat_activity WHERE application_name = '{TABLE}'") == [
            ("ClientWrite",)]

    def test_a_client_that_does_not_read_slows_the_server_and_fills_no_memory(self):
        proxy = self.proxy("--round-trip-us", "500")
        wire = self.wire(proxy)
        rows, size = 200, 1_000_000
        wire.send(query(f"SELECT repeat(chr(65 + i % 26), {size}) FROM generate_series(1, {rows}) i"))
        # The server has much more to say, and cannot.
        until(lambda: all(self.blocked() for _ in range(20)))
        for number in range(rows):
            kind, body = wire.next() if number else (wire.next(), wire.next())[1]
            self.assertEqual((kind, len(body)), ("D", size + 6))
            self.assertEqual(body[6:], bytes([65 + (number + 1) % 26]) * size)
        self.assertEqual([kind for kind, _ in wire.until_ready()], ["C", "Z"])
        self.assertLess(proxy.peak(), 60_000)

    def test_large_statements_arrive_whole(self):
        proxy = self.proxy()
        wire = self.wire(proxy)
        text = random.Random(2).randbytes(10_000_000).hex()
        sender = threading.Thread(target=wire.send, args=(query(f"SELECT md5('{text}'), length('{text}')"),))
        sender.start()
        answer = dict(wire.until_ready())
        sender.join()
        self.assertIn(b"20000000", answer["D"])
        self.assertEqual(answer["D"][6:38].decode(), self.run_direct(f"SELECT md5('{text}')")[0][0])


class Chance(ServerTest):

    def run_through(self, *options):
        """Runs the same statements through a proxy; returns the faults and the rows."""
        self.run_direct(f"TRUNCATE {TABLE}")
        with Proxy(*options) as proxy:
            for number in range(60):
                try:
                    with Wire(proxy.port) as wire:
                        wire.socket.settimeout(3)
                        for statement in ("BEGIN", insert(number), "COMMIT"):
                            wire.ask(query(statement))
                except (AssertionError, OSError):
                    pass
            self.settle()
            return [(fault["fault"], fault["point"], fault["number"]) for fault in proxy.all_faults()], self.stored()

    def test_a_seed_repeats_a_run(self):
        names = "cut_before_commit,cut_after_commit,swallow_answer,cut_in_answer,cut_statement,cut_connect"
        options = ("--fault-rate", "0.2", "--faults", names)
        first = self.run_through("--seed", "11", *options)
        self.assertEqual(self.run_through("--seed", "11", *options), first)
        self.assertNotEqual(self.run_through("--seed", "12", *options)[0], first[0])
        faults, rows = first
        # What the faults say is what the server has stored: every number but those whose commit did not arrive.
        lost = sum(fault in ("cut_before_commit", "cut_statement", "cut_connect") for fault, _, _ in faults)
        self.assertEqual(len(rows), 60 - lost)
        self.assertGreater(len(faults), 20)

    def test_the_rate_can_change(self):
        proxy = self.proxy("--fault-rate", "1", "--faults", "cut_connect")
        with self.assertRaises((AssertionError, OSError)):
            Wire(proxy.port)
        proxy.order("rate 0")
        self.assertEqual(self.wire(proxy).ask(query("SELECT 1")), ["SELECT 1"])
        proxy.order("rate 1")
        with self.assertRaises((AssertionError, OSError)):
            Wire(proxy.port)
        self.assertEqual(len(proxy.all_faults()), 2)


if __name__ == "__main__":
    unittest.main()
