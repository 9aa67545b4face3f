"""idem load, cut off and raced."""

import json
import signal
import unittest

from cli_case import REQUESTS, CliCase, line

LINES = REQUESTS.read_bytes().splitlines(keepends=True)
ROWS = 2691
HONEST = 2691 + 1245


class LoadFaultsTest(CliCase):
    def start_half(self, *arguments, **environment):
        """Starts a load that gets half of the file, and then waits for the rest; some of it is stored."""
        process = self.start("load", "-", "--format", "jsonl", "--batch", "50", "--json", *arguments, **environment)
        process.stdin.writelines(LINES[:2000])
        process.stdin.flush()
        self.wait_for(lambda: self.rows() > 500, "500 rows are stored")
        return process

    def assert_resumed(self, before):
        """A load of the whole file creates what is missing, and nothing else."""
        counts = self.load(REQUESTS, code=1)
        self.assertEqual(counts, {"created": ROWS - before, "replayed": HONEST - ROWS + before, "conflict": 64})
        self.assertEqual(self.rows(), ROWS)

    def settle(self):
        """Waits until the sessions of a process that is gone have ended."""
        self.wait_for(lambda: self.sql("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'idem'"
                                       " AND datname = current_database()") == "0", "its sessions have ended")

    def test_is_killed_and_resumed(self):
        process = self.start_half()
        process.kill()
        process.wait()
        self.settle()
        before = self.rows()
        self.assertGreater(before, 500)
        self.assertLess(before, ROWS)
        self.assert_resumed(before)

    def test_is_killed_within_a_batch_and_resumed(self):
        self.sql("CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS"
                 " 'BEGIN PERFORM pg_sleep(0.001); RETURN NEW; END';"
                 "CREATE TRIGGER slow BEFORE INSERT ON idem_transactions FOR EACH ROW EXECUTE FUNCTION slow()")
        process = self.start("load", REQUESTS, "--batch", "1000")
        self.wait_for(lambda: self.sql("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'idem'"
                                       " AND state = 'active' AND datname = current_database()") == "1", "a batch runs")
        process.kill()
        process.wait()
        self.settle()
        self.sql("DROP TRIGGER slow ON idem_transactions")
        self.assert_resumed(self.rows())

    def test_ends_after_the_batch_in_flight_when_it_is_interrupted(self):
        for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            self.sql("TRUNCATE idem_transactions")
            process = self.start_half()
            process.send_signal(number)
            self.assertEqual(process.wait(timeout=30), status)
            report = json.loads(process.stdout.read())
            self.assertEqual(report["created"], self.rows())
            self.assertEqual(report["records"] % 50, 0)
            self.assertIn(b"load it again", process.stderr.read())
        self.assert_resumed(self.rows())

    def test_goes_on_where_its_session_is_terminated(self):
        process = self.start_half()
        terminated = self.sql("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                              " WHERE application_name = 'idem' AND datname = current_database()")
        self.assertEqual(terminated, "1")
        output, _ = process.communicate(b"".join(LINES[2000:]), timeout=60)
        self.assertEqual(process.returncode, 1)
        report = json.loads(output)
        # The rows of an answer that was lost are replayed, and so at most one batch.
        self.assertEqual(report["created"] + report["replayed"], HONEST)
        self.assertGreaterEqual(report["created"], ROWS - 50)
        self.assertEqual((report["conflict"], self.rows()), (64, ROWS))

    def test_two_loads_of_one_file_share_the_work(self):
        processes = [self.start("load", REQUESTS, "--json", "--batch", batch) for batch in ("100", "100", "370")]
        reports = []
        for process in processes:
            output, errors = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 1, errors)
            reports.append(json.loads(output))
        self.assertEqual(sum(report["created"] for report in reports), ROWS)
        for report in reports:
            self.assertEqual((report["created"] + report["replayed"], report["conflict"]), (HONEST, 64))
        self.assertEqual(self.rows(), ROWS)

    def stop_at(self, key):
        """Has the database fail as soon as it comes to a key."""
        self.sql("CREATE FUNCTION stop() RETURNS trigger LANGUAGE plpgsql AS"
                 " $$BEGIN RAISE 'out of space' USING ERRCODE = 'disk_full'; END$$;"
                 "CREATE TRIGGER stop BEFORE INSERT ON idem_transactions FOR EACH ROW"
                 f" WHEN (NEW.idempotency_key = '{key}') EXECUTE FUNCTION stop()")

    def test_reports_what_was_stored_before_the_server_refused(self):
        self.stop_at("k7")
        path = self.file("requests.jsonl", b"".join(line(f"k{i}") for i in range(10)))
        done = self.idem("load", path, "--batch", "3", "--json")
        self.assert_exit(done, 3)
        self.assertEqual(json.loads(done.stdout)["created"], 6)
        self.assertIn("(53100)", done.stderr)
        self.assertEqual(self.rows(), 6)

    def test_reports_the_parts_of_a_batch_that_were_stored(self):
        self.stop_at("k7")
        lines = [line(f"k{i}") for i in range(10)]
        lines[2] = line("k2", details={"n": 0}).replace(b"0}", b"1e200000}")  # no number of jsonb
        done = self.idem("load", self.file("requests.jsonl", b"".join(lines)), "--json")
        self.assert_exit(done, 3)
        report = json.loads(done.stdout)
        self.assertEqual((report["created"], report["invalid"], report["records"]), (4, 1, 5))
        self.assertEqual(self.sql("SELECT string_agg(idempotency_key, ' ' ORDER BY 1) FROM idem_transactions"),
                         "k0 k1 k3 k4")

    def test_stores_nothing_without_a_right_to(self):
        self.sql(f"CREATE ROLE stranger_{self.database} LOGIN")
        self.addCleanup(self.sql, f"DROP ROLE stranger_{self.database}")
        path = self.file("requests.jsonl", line("k"))
        done = self.idem("load", path, PGUSER=f"stranger_{self.database}")
        self.assert_exit(done, 8)
        self.assertIn("(42501)", done.stderr)
        self.assertEqual(self.rows(), 0)

    def test_tells_that_there_is_no_server(self):
        path = self.file("requests.jsonl", line("k"))
        done = self.idem("load", path, "--timeout", "1", PGHOST="127.0.0.1", PGPORT="1")
        self.assert_exit(done, 3)
        self.assertIn("0 records", done.stdout)

    def test_waits_for_a_key_no_longer_than_its_timeout(self):
        self.hold_key("k")
        path = self.file("requests.jsonl", line("a") + line("k") + line("b"))
        done = self.idem("load", path, "--batch", "1", "--timeout", "1")
        self.assertIn(done.returncode, (4, 6))
        self.assertIn("1 records", done.stdout)
        self.assertEqual(self.rows(), 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
