"""Faults at a commit: what the client sees, and what the server has stored."""

import time
import unittest

from proxied import SYNC, TABLE, OperationalError, ServerTest, call, insert, message, query, until


class CommitFaults(ServerTest):

    def begun(self, proxy):
        """A client whose transaction has stored a number that is not committed yet."""
        wire = self.wire(proxy)
        wire.ask(query("BEGIN"))
        self.assertEqual(wire.ask(query(insert(1))), ["INSERT 0 1"])
        return wire

    def begun_libpq(self, proxy):
        """The same in libpq."""
        connection = proxy.connect()
        self.addCleanup(connection.close)
        with connection.cursor() as cursor:
            cursor.execute(insert(1))
        return connection

    def test_nothing_happens_unasked(self):
        proxy = self.proxy()
        self.begun_libpq(proxy).commit()
        self.assertEqual(self.stored(), [1])
        self.assertEqual(proxy.all_faults(), [])

    def test_cut_before_commit(self):
        proxy = self.proxy()
        connection = self.begun_libpq(proxy)
        proxy.order("next cut_before_commit")
        with self.assertRaises(OperationalError):
            connection.commit()
        self.assert_fault(proxy, "cut_before_commit", "commit")
        self.settle()
        self.assertEqual(self.stored(), [])
        # It was asked for once.
        self.begun_libpq(proxy).commit()
        self.assertEqual(self.stored(), [1])

    def test_cut_after_commit(self):
        proxy = self.proxy()
        connection = self.begun_libpq(proxy)
        proxy.order("next cut_after_commit")
        with self.assertRaises(OperationalError):
            connection.commit()
        self.assert_fault(proxy, "cut_after_commit", "commit", "COMMIT")
        self.assertEqual(self.stored(), [1])
        self.settle()

    def test_a_cut_ends_and_a_reset_breaks(self):
        for fault in ("cut_before_commit", "cut_after_commit"):
            proxy = self.proxy()
            wire = self.begun(proxy)
            proxy.order(f"next {fault}")
            wire.send(query("COMMIT"))
            self.assertEqual(wire.rest(), b"")
            self.settle()
        proxy = self.proxy()
        self.run_direct(f"TRUNCATE {TABLE}")
        wire = self.begun(proxy)
        proxy.order("next reset_after_commit")
        wire.send(query("COMMIT"))
        with self.assertRaises(ConnectionResetError):
            wire.rest()
        self.assert_fault(proxy, "reset_after_commit", "commit", "COMMIT")
        self.assertEqual(self.stored(), [1])

    def test_swallow_answer(self):
        proxy = self.proxy()
        wire = self.begun(proxy)
        proxy.order("next swallow_answer")
        wire.send(query("COMMIT"))
        self.assert_fault(proxy, "swallow_answer", "commit", "COMMIT")
        self.assertEqual(self.stored(), [1])
        wire.send(query(insert(2)))
        self.assertTrue(wire.silent())
        self.assertEqual(self.sessions(), ["idle"])
        wire.socket.close()
        self.settle()
        self.assertEqual(self.stored(), [1])

    def test_half_open(self):
        proxy = self.proxy()
        wire = self.begun(proxy)
        proxy.order("next half_open")
        wire.send(query("COMMIT"))
        self.assert_fault(proxy, "half_open", "commit")
        self.assertTrue(wire.silent())
        self.assertEqual(self.sessions(), ["idle in transaction"])
        wire.socket.close()
        self.settle()
        self.assertEqual(self.stored(), [])

    def test_the_server_may_keep_a_silent_session(self):
        proxy = self.proxy("--linger-ms", "2000")
        wire = self.begun(proxy)
        proxy.order("next half_open")
        wire.send(query("COMMIT"))
        self.assert_fault(proxy, "half_open", "commit")
        start = time.monotonic()
        wire.socket.close()
        self.assertEqual(self.sessions(), ["idle in transaction"])
        self.settle()
        self.assertGreaterEqual(time.monotonic() - start, 1.9)
        self.assertEqual(self.stored(), [])

    def test_cut_in_answer(self):
        complete, ready = message(b"C", b"COMMIT\0"), message(b"Z", b"I")
        for size in (0, 1, 4, 5, len(complete), len(complete) + 5):
            self.run_direct(f"TRUNCATE {TABLE}")
            proxy = self.proxy()
            wire = self.begun(proxy)
            proxy.order(f"next cut_in_answer {size}")
            wire.send(query("COMMIT"))
            self.assertEqual(wire.rest(), (complete + ready)[:size])
            self.assert_fault(proxy, "cut_in_answer", "commit", "COMMIT")
            self.assertEqual(self.stored(), [1])

    def test_cut_in_answer_leaves_something_out_by_chance(self):
        proxy = self.proxy()
        whole = len(message(b"C", b"COMMIT\0") + message(b"Z", b"I"))
        sizes = set()
        for _ in range(12):
            self.run_direct(f"TRUNCATE {TABLE}")
            wire = self.begun(proxy)
            proxy.order("next cut_in_answer")
            wire.send(query("COMMIT"))
            sizes.add(len(wire.rest()))
            self.settle()
        self.assertLess(max(sizes), whole)
        self.assertGreater(len(sizes), 3)

    def test_delay(self):
        proxy = self.proxy()
        wire = self.begun(proxy)
        proxy.order("next delay commit 1500")
        start = time.monotonic()
        wire.send(query("COMMIT"))
        self.assert_fault(proxy, "delay", "commit")
        self.assertEqual(self.stored(), [])
        self.assertEqual([kind for kind, _ in wire.until_ready()], ["C", "Z"])
        self.assertGreaterEqual(time.monotonic() - start, 1.5)
        self.assertEqual(self.stored(), [1])

    def test_a_query_of_its_own_is_a_commit(self):
        for fault, rows, answer in (("cut_before_commit", [], ""), ("cut_after_commit", [1], "INSERT 0 1")):
            proxy = self.proxy()
            wire = self.wire(proxy)
            proxy.order(f"next {fault}")
            wire.send(query(insert(1)))
            self.assertEqual(wire.rest(), b"")
            self.assert_fault(proxy, fault, "autocommit", answer)
            self.settle()
            self.assertEqual(self.stored(), rows)

    def test_the_sync_of_a_statement_of_its_own_is_a_commit(self):
        for fault, rows, answer in (("cut_before_commit", [], ""), ("cut_after_commit", [1], "INSERT 0 1")):
            proxy = self.proxy()
            wire = self.wire(proxy)
            wire.ask(call("SET x.y = 1") + SYNC)
            proxy.order(f"next {fault}")
            wire.send(call(insert(1)) + SYNC)
            self.assertEqual(wire.rest(), b"")
            self.assert_fault(proxy, fault, "autocommit", answer)
            self.settle()
            self.assertEqual(self.stored(), rows)

    def test_only_an_explicit_commit_where_that_is_asked_for(self):
        proxy = self.proxy()
        wire = self.wire(proxy)
        proxy.order("next cut_after_commit commit")
        self.assertEqual(wire.ask(query(insert(1))), ["INSERT 0 1"])
        wire.ask(query("BEGIN"))
        wire.send(query("COMMIT"))
        self.assertEqual(wire.rest(), b"")

    def test_what_is_before_the_commit_in_a_pipeline_is_answered(self):
        whole = [query("BEGIN"), query(insert(1)), query("COMMIT"), query(insert(2))]
        for fault, rows in (("cut_before_commit", []), ("cut_after_commit", [1]), ("swallow_answer", [1])):
            self.run_direct(f"TRUNCATE {TABLE}")
            proxy = self.proxy()
            wire = self.wire(proxy)
            proxy.order(f"next {fault}")
            wire.send(b"".join(whole))
            if fault != "cut_before_commit":
                self.assertEqual([kind for kind, _ in wire.until_ready() + wire.until_ready()], ["C", "Z", "C", "Z"])
            self.assert_fault(proxy, fault, "commit", "COMMIT" if rows else "")
            if fault == "swallow_answer":
                self.assertTrue(wire.silent())
                wire.socket.close()
            elif fault == "cut_after_commit":
                self.assertEqual(wire.rest(), b"")
            self.settle()
            # What comes after the commit is as lost as its answer is.
            self.assertEqual(self.stored(), rows)

    def test_the_answer_begins_in_the_middle_of_a_pipeline(self):
        proxy = self.proxy()
        wire = self.wire(proxy)
        proxy.order("next cut_after_commit")
        wire.send(call("BEGIN") + call(insert(1)) + call("COMMIT") + SYNC + call(insert(2)) + SYNC)
        kinds = []
        while one := wire.next():
            kinds.append(one[0])
        self.assertEqual(kinds, ["1", "2", "n", "C", "1", "2", "n", "C"])
        self.assert_fault(proxy, "cut_after_commit", "commit", "COMMIT")
        self.settle()
        self.assertEqual(self.stored(), [1])

    def test_an_error_before_the_commit_in_a_pipeline_arrives(self):
        proxy = self.proxy()
        wire = self.wire(proxy)
        proxy.order("next cut_after_commit")
        wire.send(call("BEGIN") + call("SELECT 1/0") + call("COMMIT") + SYNC)
        kinds = []
        while one := wire.next():
            kinds.append(one[0])
        self.assertEqual(kinds, ["1", "2", "n", "C", "1", "E"])
        self.assert_fault(proxy, "cut_after_commit", "commit")

    def test_a_commit_that_fails(self):
        self.run_direct(insert(1))
        proxy = self.proxy()
        wire = self.begun(proxy)
        proxy.order("next cut_after_commit")
        wire.send(query("COMMIT"))
        self.assertEqual(wire.rest(), b"")
        self.assert_fault(proxy, "cut_after_commit", "commit", "23505")
        self.settle()
        self.assertEqual(self.stored(), [1])

    def test_a_session_that_ends_instead_of_answering(self):
        proxy = self.proxy()
        wire = self.wire(proxy)
        proxy.order("next cut_after_commit")
        wire.send(query("SELECT pg_sleep(60)"))
        until(lambda: self.sessions() == ["active"])
        self.terminate()
        self.assertEqual(wire.rest(), b"")
        self.assert_fault(proxy, "cut_after_commit", "autocommit", "57P01")

    def test_copy(self):
        proxy = self.proxy()
        wire = self.wire(proxy)
        proxy.order("next cut_after_commit")
        wire.send(query(f"COPY {TABLE} FROM STDIN"))
        self.assertEqual(wire.next()[0], "G")
        wire.send(message(b"d", b"1\n2\n") + message(b"c"))
        self.assertEqual(wire.rest(), b"")
        self.assert_fault(proxy, "cut_after_commit", "autocommit", "COPY 2")
        self.assertEqual(self.stored(), [1, 2])

    def test_set_and_next_and_clear(self):
        proxy = self.proxy()
        proxy.order("set cut_before_commit commit")
        proxy.order("next cut_after_commit commit")
        for expected in ([1], [1], [1]):
            connection = proxy.connect()
            with connection.cursor() as cursor:
                cursor.execute(insert(len(self.stored()) + 1))
            with self.assertRaises(OperationalError):
                connection.commit()
            connection.close()
            self.settle()
            self.assertEqual(self.stored(), expected)
        proxy.order("clear")
        connection = proxy.connect()
        with connection.cursor() as cursor:
            cursor.execute(insert(2))
        connection.commit()
        connection.close()
        self.assertEqual(self.stored(), [1, 2])
        self.assertEqual([fault["fault"] for fault in proxy.all_faults()],
                         ["cut_after_commit", "cut_before_commit", "cut_before_commit"])

    def test_reports(self):
        proxy = self.proxy()
        proxy.order("set cut_after_commit")
        for number in (1, 2):
            wire = self.wire(proxy)
            wire.send(query(insert(number)))
            self.assertEqual(wire.rest(), b"")
            fault = proxy.fault()
            self.assertAlmostEqual(fault.pop("time"), time.time(), delta=60)
            self.assertEqual(fault, {"connection": number, "fault": "cut_after_commit", "point": "autocommit",
                                     "number": number, "answer": "INSERT 0 1"})


if __name__ == "__main__":
    unittest.main()
