"""idem load, of files that are fine and of files that are not."""

import csv
import io
import json
import resource
import sys
import unittest

from cli_case import REQUESTS, ROOT, CliCase, line

sys.path.insert(0, str(ROOT / "demo"))
import requestfile  # noqa: E402  It counts the file in a way of its own.

HEADER = b"tenant_id,idempotency_key,amount_minor,currency\n"


class PlayedRequestsTest(CliCase):
    """The file of requests that the demonstration plays."""

    expected = {"created": 2691, "replayed": 1245, "conflict": 64}
    again = {"replayed": 2691 + 1245, "conflict": 64}

    def assert_ledger(self):
        """The ledger holds exactly the first request of each scope."""
        originals = {request.scope: request.content for request in requestfile.read_requests(REQUESTS)
                     if request.original is request}
        rows = json.loads(self.sql(
            "SELECT json_agg(json_build_array(tenant_id, operation, idempotency_key, amount_minor, currency, order_ref,"
            " details::text)) FROM idem_transactions"))
        stored = {tuple(row[:3]): (row[3], row[4], row[5], requestfile.read_document(row[6])) for row in rows}
        self.assertEqual(len(rows), len(stored))
        self.assertEqual(stored, originals)

    def test_loads_and_loads_again(self):
        report = self.folder / "refused.jsonl"
        self.assertEqual(self.load(REQUESTS, "--report", report, code=1), self.expected)
        self.assertIn("instance", self.stderr)
        changed = [request.number + 1 for request in requestfile.read_requests(REQUESTS) if request.tampered]
        refused = [json.loads(text) for text in report.read_text().splitlines()]
        self.assertEqual([entry["line"] for entry in refused], changed)
        self.assertEqual({(entry["outcome"], entry["sqlstate"]) for entry in refused}, {("conflict", "ID001")})
        self.assertEqual(self.report["first_lines"]["conflict"], changed[:10])
        self.assert_ledger()
        self.assertEqual(self.load(REQUESTS, "--batch", "173", code=1), self.again)
        self.assert_ledger()

    def test_loads_the_same_from_csv(self):
        text = io.StringIO()
        names = ["tenant_id", "operation", "idempotency_key", "amount_minor", "currency", "order_ref", "details"]
        writer = csv.DictWriter(text, names, extrasaction="ignore")
        writer.writeheader()
        starts = {}
        for request in requestfile.read_requests(REQUESTS):
            starts[request.number] = text.getvalue().count("\n") + 1 if request.tampered else 0
            writer.writerow(request.arguments)
        report = self.folder / "refused.jsonl"
        path = self.file("requests.CSV", text.getvalue())
        self.assertEqual(self.load(path, "--report", report, code=1), self.expected)
        self.assertEqual([json.loads(entry)["line"] for entry in report.read_text().splitlines()],
                         [start for start in starts.values() if start])
        self.assert_ledger()
        self.assertEqual(self.load(REQUESTS, code=1), self.again)

    def test_checks_without_a_database(self):
        done = self.idem("load", REQUESTS, "--dry-run", PGHOST="/nowhere")
        self.assert_exit(done, 0)
        self.assertRegex(done.stdout, r"^4000 records in .*\n  valid +4000\n  invalid +0\n  unreadable +0\n$")
        self.assertEqual(self.rows(), 0)


class LoadTest(CliCase):
    def refused(self, *arguments, stdin, code=1):
        """Loads from standard input, and gives line, outcome and SQLSTATE of each refused record."""
        report = self.folder / "refused.jsonl"
        self.counts = self.load("-", "--report", report, *arguments, stdin=stdin, code=code)
        entries = [json.loads(text) for text in report.read_text().splitlines()]
        return [(entry["line"], entry["outcome"], entry["sqlstate"]) for entry in entries]

    def test_goes_on_after_bad_lines(self):
        text = (line("a") + b"not JSON\n" + b"\n" + line("a", amount_minor=7) + line("b", amount_minor=1.5)
                + line("b", currency="eur") + b'{"tenant_id": "\xff"}\n' + line("a\0b") + line("c", order_ref="o")
                + line("d", order_ref="o") + line("a"))
        self.assertEqual(self.refused("--format", "jsonl", stdin=text), [
            (2, "unreadable", None), (4, "conflict", "ID001"), (5, "unreadable", None), (6, "invalid", "22023"),
            (7, "unreadable", "22021"), (8, "invalid", "22023"), (10, "order_taken", "ID003")])
        self.assertEqual(self.counts, {"created": 2, "replayed": 1, "conflict": 1, "order_taken": 1, "invalid": 2,
                                       "unreadable": 2 + 1})
        self.assertEqual(self.rows(), 2)

    def test_goes_on_after_bad_records_of_csv(self):
        text = (HEADER + b"t,a,100,EUR\r\n" + b"t,b,100\r\n" + b't,"b\nb",100,EUR\r\n' + b"t,b\0b,100,EUR\n"
                + b"t,\xed\xa0\xbd,100,EUR\n" + b't,b"b,100,EUR\n' + b"t,b,1e2,EUR\n" + b't,"a","100","EUR"\n'
                + b't,"c,100,EUR\nt,d,100,EUR\n')
        self.assertEqual(self.refused("--format", "csv", stdin=text), [
            (3, "unreadable", None), (4, "invalid", "22023"), (6, "invalid", "22023"), (7, "unreadable", "22021"),
            (8, "unreadable", None), (9, "unreadable", None), (11, "unreadable", None)])
        self.assertEqual((self.counts["created"], self.counts["replayed"]), (1, 1))

    def test_keeps_every_digit(self):
        members = '"big": 1180591620717411303424, "rate": 0.10, "far": 1e400, "zero": -0.00, "small": 1.5e-300'
        start = '{"tenant_id": "t", "amount_minor": "9007199254740993", "currency": "EUR", "idempotency_key"'
        text = (f'{start}: "object", "details": {{{members}}}}}\n'
                f'{start}: "string", "details": {json.dumps("{" + members + "}")}}}\n')
        self.assertEqual(self.load("-", "--format", "jsonl", stdin=text.encode(), code=0), {"created": 2})
        stored = self.sql("SELECT DISTINCT amount_minor || details::text FROM idem_transactions")
        self.assertEqual(stored, self.sql(f"SELECT '9007199254740993' || '{{{members}}}'::jsonb::text"))
        self.assertIn(f'"big": {2**70}', stored)
        self.assertIn(f'"far": 1{"0" * 400}', stored)
        self.assertIn('"rate": 0.10', stored)

    def test_finds_what_only_the_server_can_refuse(self):
        raw = ('{"tenant_id": "t", "idempotency_key": "x", "amount_minor": 1, "currency": "EUR", "details": %s}\n')
        text = b"".join(line(f"k{i}") for i in range(50)) + (raw % '{"n": 1e200000}').encode() + line("k50") + \
            (raw % '{"n": "\\ud800"}').encode() + (raw % '{"n": "\\u0000"}').encode() + line("k51")
        self.assertEqual(self.refused("--format", "jsonl", stdin=text), [
            (51, "invalid", "22003"), (53, "invalid", "22P02"), (54, "invalid", "22P05")])
        self.assertEqual(self.rows(), 52)

    def test_goes_on_after_what_a_constraint_refuses(self):
        self.sql("ALTER TABLE idem_transactions ADD CHECK (amount_minor < 1000)")
        text = line("a") + line("b", amount_minor=5000) + line("c")
        self.assertEqual(self.refused("--format", "jsonl", stdin=text), [(2, "invalid", "23514")])
        self.assertEqual(self.rows(), 2)

    def test_takes_empty_files_and_byte_order_marks(self):
        self.assertEqual(self.load(self.file("empty.jsonl", ""), code=0), {})
        self.assertEqual(self.load(self.file("header.csv", HEADER), code=0), {})
        self.assertEqual(self.load(self.file("mark.jsonl", b"\xef\xbb\xbf" + line("k")), code=0), {"created": 1})
        self.assertEqual(self.load(self.file("mark.csv", b"\xef\xbb\xbf" + HEADER + b"t,k,100,EUR\r\n"), code=0),
                         {"replayed": 1})

    def test_refuses_files_as_a_whole(self):
        for name, content, words in (
                ("empty.csv", b"", "no header"),
                ("twice.csv", b"tenant_id,tenant_id,idempotency_key,amount_minor,currency\n", "twice"),
                ("less.csv", b"tenant_id,amount_minor,currency\nt,1,EUR\n", "no idempotency_key"),
                ("tenantless.csv", b"idempotency_key,amount_minor,currency\nk,1,EUR\n", "no tenant_id"),
                ("wide.jsonl", "{}".encode("utf-16"), "UTF-16")):
            done = self.idem("load", self.file(name, content))
            self.assert_exit(done, 9)
            self.assertIn(words, done.stderr)
        self.assert_exit(self.idem("load", "/nowhere.csv"), 9)
        self.assert_exit(self.idem("load", self.folder, "--format", "csv"), 9)
        self.assertEqual(self.load(self.folder / "tenantless.csv", "--tenant", "t", code=0), {"created": 1})

    def test_refuses_command_lines_that_make_no_sense(self):
        path = self.file("requests.jsonl", line("k"))
        for arguments in ((), ("-",), (self.file("requests.txt", line("k")),), (path, "--batch", "0"),
                          (path, "--batch", "100001"), (path, "--format", "xml"), (path, "--report", path)):
            self.assert_exit(self.idem("load", *arguments), 2)
        self.assertEqual(path.read_bytes(), line("k"))
        self.assertEqual(self.rows(), 0)

    def test_says_that_its_outputs_cannot_be_written(self):
        path = self.file("requests.jsonl", line("k") + b"bad\n")
        self.assert_exit(self.idem("load", path, "--report", "/dev/full"), 9)
        self.assert_exit(self.idem("load", path, "--report", "/nowhere/report"), 9)

    def test_needs_little_memory(self):
        # Neither a line beyond the limit nor a long file is read as a whole.
        path = self.folder / "long.jsonl"
        with path.open("wb") as out:
            out.write(b'{"tenant_id": "')
            for _ in range(300):
                out.write(b"x" * 1000000)
            out.write(b'"}\n')
            for i in range(200000):
                out.write(line(f"key-{i}", details={"memo": "m" * 300}))
        done = self.idem("load", path, "--dry-run", "--json")
        self.assert_exit(done, 1)
        report = json.loads(done.stdout)
        self.assertEqual((report["valid"], report["unreadable"], report["first_lines"]["unreadable"]), (200000, 1, [1]))
        self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, 180 * 1024)

    def test_serves_requests_of_many_megabytes(self):
        text = b"".join(line(f"k{i}", details={"memo": "m" * 9000000}) for i in range(4))
        self.assertEqual(self.load("-", "--format", "jsonl", stdin=text, code=0), {"created": 4})

    def test_prints_a_report_for_readers(self):
        done = self.idem("load", self.file("requests.jsonl", line("a") + b"bad\n" + line("a")))
        self.assert_exit(done, 1)
        self.assertRegex(done.stdout, r"^3 records in \d+\.\d s \(\d+/s\)\n  created +1\n  replayed +1\n  conflict +0\n"
                                      r"  order_taken +0\n  invalid +0\n  unreadable +1   line 2\n$")
        self.assertEqual(done.stderr, "")


if __name__ == "__main__":
    unittest.main(verbosity=2)
