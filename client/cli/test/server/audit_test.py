"""idem audit, idem bench, help and the manual page."""

import json
import re
import subprocess
import unittest

from cli_case import COMMAND, ROOT, CliCase

COMMANDS = ("create", "show", "load", "audit", "bench", "verify")


class AuditTest(CliCase):
    def test_finds_nothing_in_a_sound_table(self):
        done = self.idem("audit", "--table", "idem_transactions")
        self.assert_exit(done, 0)
        self.assertEqual(done.stdout, "no findings\n")
        done = self.idem("audit", "--table", "idem_transactions", "--json")
        self.assertEqual(json.loads(done.stdout), [])

    def test_prints_findings(self):
        self.sql("ALTER TABLE idem_transactions SET UNLOGGED")
        done = self.idem("audit", "--table", "public.idem_transactions")
        self.assert_exit(done, 1)
        self.assertRegex(done.stdout, r"^error +unlogged +\S*idem_transactions\n    \S.*\n")
        self.assertRegex(done.stdout, r"\n\n1 errors, 0 warnings, 0 notices\n$")
        done = self.idem("audit", "--table", "public.idem_transactions", "--json")
        self.assert_exit(done, 1)
        self.assertEqual([finding["code"] for finding in json.loads(done.stdout)], ["unlogged"])

    def test_audits_everything(self):
        self.sql("GRANT DELETE ON idem_transactions TO PUBLIC")
        done = self.idem("audit", "--json", PGTZ="Asia/Tokyo")
        self.assert_exit(done, 1)
        found = json.loads(done.stdout)
        expected = self.sql("SELECT json_agg(a) FROM idem_audit() AS a")
        self.assertEqual(found, json.loads(expected))
        self.assertIn("may_change_ledger", [finding["code"] for finding in found])

    def test_fails_from_a_severity_on(self):
        self.sql("CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';"
                 "CREATE TRIGGER t BEFORE INSERT ON idem_transactions FOR EACH ROW EXECUTE FUNCTION nothing()")
        for severity, code in (("notice", 1), ("warning", 0), ("error", 0)):
            done = self.idem("audit", "--table", "idem_transactions", "--fail-on", severity)
            self.assert_exit(done, code)
            self.assertIn("before_insert_trigger", done.stdout)
        self.assert_exit(self.idem("audit", "--fail-on", "never"), 2)

    def test_tells_that_it_may_not_or_cannot(self):
        self.assert_exit(self.idem("audit", "--table", "nowhere"), 8)
        self.sql("DROP EXTENSION idem")
        done = self.idem("audit")
        self.assert_exit(done, 8)
        self.assert_exit(self.idem("audit", PGHOST="127.0.0.1", PGPORT="1"), 3)

    def test_reads_where_nothing_may_be_written(self):
        self.sql(f"ALTER DATABASE {self.database} SET default_transaction_read_only = on")
        self.assert_exit(self.idem("audit", "--table", "idem_transactions"), 0)

    def test_ends_within_its_timeout(self):
        self.make_audit_slow()
        done = self.idem("audit", "--table", "idem_transactions", "--timeout", "0.5")
        self.assert_exit(done, 6)
        self.assertIn("(57014)", done.stderr)


class BenchTest(CliCase):
    def test_runs_the_benchmark_of_a_source_tree(self):
        (self.folder / "scripts").mkdir()
        self.file("idem.control", "")
        self.file("scripts/bench", '#!/bin/sh\necho "$0" "$@"\nexit 3\n').chmod(0o755)
        deep = self.folder / "a" / "b"
        deep.mkdir(parents=True)
        script = (self.folder / "scripts" / "bench").resolve()
        done = self.idem("bench", "--quick", "--rounds", "2", "--seconds", "5", cwd=deep)
        self.assert_exit(done, 3)
        self.assertEqual(done.stdout, f"{script} --quick --rounds 2 --seconds 5\n")
        done = self.idem("bench", "--source", self.folder, "--growth", "--rows", "10,20")
        self.assertTrue(done.stdout.endswith("/scripts/bench --growth --rows 10,20\n"), done.stdout)
        self.assert_exit(self.idem("bench", "--source", self.folder, "--quick", "--growth"), 2)

    def test_takes_the_options_that_the_benchmark_has(self):
        usage = (ROOT / "scripts" / "bench").read_text()
        options = set(re.findall(r"--[a-z]+", self.idem("bench", "--help").stdout)) - {
            "--help", "--source", "--dsn", "--schema", "--timeout", "--version"}
        self.assertEqual(options, set(re.findall(r"--(?:quick|growth|rows|rounds|seconds)\b", usage)))

    def test_needs_a_source_tree(self):
        for arguments in ((), ("--source", self.folder), ("--source", "/nowhere")):
            done = self.idem("bench", *arguments, cwd=self.folder)
            self.assert_exit(done, 9)
            self.assertIn("source tree", done.stderr)


class HelpTest(CliCase):
    def test_tells_the_version(self):
        done = self.idem("--version")
        self.assert_exit(done, 0)
        version = re.search(r"^default_version = '(.*)'", (ROOT / "idem.control").read_text(), re.M)[1]
        self.assertEqual(done.stdout, f"idem {version}\n")

    def test_helps(self):
        done = self.idem("--help")
        self.assert_exit(done, 0)
        for command in COMMANDS:
            self.assertIn(f"\n  {command} ", done.stdout)
            shown = self.idem(command, "--help")
            self.assert_exit(shown, 0)
            self.assertRegex(shown.stdout, rf"Examples?:\n  idem {command}\b")
            self.assertIn("Exit codes: ", shown.stdout)
            self.assertLessEqual(max(map(len, shown.stdout.splitlines())), 100)

    def test_refuses_what_is_no_command(self):
        for arguments in ((), ("nothing",), ("--nothing",), ("show", "audit")):
            done = self.idem(*arguments)
            self.assertEqual(done.returncode, 7 if arguments == ("show", "audit") else 2, done.stderr)
            self.assertEqual(done.stdout, "")

    def test_has_every_option_in_the_manual_page_and_the_documentation(self):
        manual = (ROOT / "client" / "cli" / "idem.1").read_text().replace("\\-", "-")
        page = (ROOT / "docs" / "command-line.md").read_text()
        options = set()
        for command in ((), *((name,) for name in COMMANDS)):
            options |= set(re.findall(r"--[a-z][a-z-]+", self.idem(*command, "--help").stdout))
        self.assertGreater(len(options), 20)
        for text in (manual, page):
            self.assertEqual(options - set(re.findall(r"--[a-z][a-z-]+", text)), set())
            self.assertEqual([command for command in COMMANDS if f"idem {command}" not in text], [])

    def test_says_that_its_output_cannot_be_written(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([COMMAND, "--help"], stdout=full, stderr=subprocess.PIPE, env=self.environment())
        self.assertEqual(done.returncode, 9)


if __name__ == "__main__":
    unittest.main(verbosity=2)
