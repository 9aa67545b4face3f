"""idem create and idem show."""

import json
import re
import socket
import unittest
import uuid

from cli_case import CliCase, line
from cut_relay import CutRelay

CREATE = ("create", "--tenant", "t", "--amount", "100", "--currency", "EUR")


class CreateTest(CliCase):
    def test_creates_and_then_replays(self):
        first = self.idem(*CREATE, "--key", "k", "--json")
        self.assert_exit(first, 0)
        second = self.idem(*CREATE, "--key", "k", "--json")
        self.assert_exit(second, 0)
        created, replayed = json.loads(first.stdout), json.loads(second.stdout)
        self.assertEqual((created.pop("outcome"), replayed.pop("outcome")), ("created", "replayed"))
        self.assertEqual(created, replayed)
        self.assertEqual(created["transaction_id"], self.sql("SELECT id FROM idem_transactions"))
        self.assertEqual(created["created_at"], self.sql(
            "SET timezone = 'UTC';"
            " SELECT to_char(created_at, 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"') FROM idem_transactions"))

    def test_prints_a_row_for_readers(self):
        done = self.idem(*CREATE, "--key", "k", "--order-ref", "o-1", "--details", '{"n": 0.10}')
        self.assert_exit(done, 0)
        row = dict(re.split(r"  +", text, maxsplit=1) for text in done.stdout.splitlines())
        self.assertEqual({**row, "transaction_id": "", "created_at": ""}, {
            "outcome": "created", "transaction_id": "", "tenant_id": "t", "operation": "create-transaction",
            "idempotency_key": "k", "amount_minor": "100", "currency": "EUR", "details": '{"n": 0.10}',
            "order_ref": "o-1", "created_at": ""})

    def test_keeps_every_digit(self):
        details = '{"big": 1180591620717411303424, "rate": 0.10, "far": 1e400}'
        done = self.idem(*CREATE, "--key", "k", "--details", details, "--json")
        self.assert_exit(done, 0)
        self.assertIn(f'"big": {2**70}', done.stdout)
        self.assertIn('"rate": 0.10', done.stdout)
        self.assertIn(f'"far": 1{"0" * 400}', done.stdout)
        done = self.idem("create", "--tenant", "t", "--key", "m", "--amount", 2**63 - 1, "--currency", "EUR", "--json")
        self.assertIn(f'"amount_minor": {2**63 - 1}, ', done.stdout)
        done = self.idem("create", "--tenant", "t", "--key", "o", "--amount", "010", "--currency", "EUR", "--json")
        self.assertIn('"amount_minor": 10, ', done.stdout)

    def test_reads_details_from_files(self):
        path = self.file("details.json", '{"a":\n 1}\n')
        self.assert_exit(self.idem(*CREATE, "--key", "k", "--details", f"@{path}"), 0)
        again = self.idem(*CREATE, "--key", "k", "--details", "-", stdin=b'{"a": 1.0}')
        self.assert_exit(again, 0)
        self.assertIn("replayed", again.stdout)
        missing = self.idem(*CREATE, "--key", "k", "--details", "@/nowhere")
        self.assert_exit(missing, 9)

    def test_tells_conflicts(self):
        self.idem(*CREATE, "--key", "k", "--order-ref", "o", "--details", '{"secret": "s3cr3t"}')
        changed = self.idem(*CREATE, "--key", "k", "--order-ref", "o", "--details", '{"secret": "other"}')
        self.assert_exit(changed, 5)
        self.assertRegex(changed.stderr, r"^idem: .+ \(ID001\)\ndetail: .*details.*\nhint: .+\n$")
        self.assertNotRegex(changed.stderr, "s3cr3t|other\"")
        self.assertEqual(changed.stdout, "")
        taken = self.idem(*CREATE, "--key", "k2", "--order-ref", "o")
        self.assert_exit(taken, 5)
        self.assertIn("(ID003)", taken.stderr)

    def test_takes_a_conflict_as_an_outcome(self):
        self.idem(*CREATE, "--key", "k", "--order-ref", "o")
        changed = self.idem(*CREATE, "--key", "k", "--try", "--json")
        self.assert_exit(changed, 5)
        self.assertEqual(json.loads(changed.stdout)["outcome"], "conflict")
        self.assertIsNone(json.loads(changed.stdout)["transaction_id"])
        self.assertEqual(changed.stderr, "")
        taken = self.idem(*CREATE, "--key", "k2", "--order-ref", "o", "--try", "--json")
        self.assert_exit(taken, 5)
        self.assertEqual(json.loads(taken.stdout)["outcome"], "order_taken")

    def test_tells_that_a_key_is_in_progress(self):
        self.hold_key("k")
        busy = self.idem(*CREATE, "--key", "k", PGOPTIONS="-c idem.busy_timeout=100")
        self.assert_exit(busy, 6)
        self.assertIn("(ID002)", busy.stderr)
        waited = self.idem(*CREATE, "--key", "k", PGOPTIONS="-c lock_timeout=100")
        self.assert_exit(waited, 6)
        self.assertIn("(55P03)", waited.stderr)

    def test_refuses_what_is_invalid(self):
        for arguments, state in ((("--key", ""), "22023"), (("--key", " k"), "22023"), (("--key", "k" * 256), "22023"),
                                 (("--key", "k", "--details", "{"), "22P02"),
                                 (("--key", "k", "--details", "[]"), "22023"),
                                 (("--key", "k", "--details", '{"a": 1e200000}'), "22003"),
                                 (("--key", "k", "--order-ref", ""), "22023")):
            done = self.idem(*CREATE, *arguments)
            self.assert_exit(done, 7)
            self.assertIn(f"({state})", done.stderr)
        done = self.idem("create", "--tenant", "t", "--key", "k", "--amount", "-5", "--currency", "EUR")
        self.assert_exit(done, 7)
        self.assertEqual(self.rows(), 0)

    def test_refuses_command_lines_that_say_too_little_or_too_much(self):
        for arguments in ((), ("--key", "k", "--new-key"), ("--key", "k", "--unknown"), ("--key", "k", "extra"),
                          ("--key", "k", "--timeout", "0"), ("--key", "k", "--amount", "1e3"),
                          ("--key", "k", "--amount", "100.0"), ("--key", "k", "--amount", "0x10")):
            others = [word for word in CREATE if "--amount" not in arguments or word not in ("--amount", "100")]
            done = self.idem(*others, *arguments)
            self.assert_exit(done, 2)
            self.assertTrue(done.stderr.startswith("idem: "), done.stderr)
        self.assertEqual(self.rows(), 0)

    def test_prints_a_new_key_before_it_sends(self):
        done = self.idem(*CREATE, "--new-key", "--json")
        self.assert_exit(done, 0)
        key = re.fullmatch(r"key: (\S+)\n", done.stderr)[1]
        self.assertEqual(uuid.UUID(key).version, 7)
        self.assertEqual(json.loads(done.stdout)["idempotency_key"], key)
        self.assertEqual(self.sql("SELECT idempotency_key FROM idem_transactions"), key)
        unsent = self.idem(*CREATE, "--new-key", "--timeout", "1", PGHOST="/nowhere")
        self.assert_exit(unsent, 3)
        self.assertRegex(unsent.stderr, r"^key: \S{36}\nidem: ")

    def test_tells_that_there_is_no_server(self):
        done = self.idem(*CREATE, "--key", "k", "--timeout", "1", PGHOST="127.0.0.1", PGPORT="1")
        self.assert_exit(done, 3)
        self.assertIn("(08001)", done.stderr)

    def test_tells_that_it_is_in_doubt_and_how_it_ended(self):
        for key, forward, outcome in (("arrived", True, "replayed"), ("lost", False, "created")):
            relay = CutRelay(forward)
            done = self.idem(*CREATE, "--key", key, "--timeout", "1", PGHOST="127.0.0.1", PGPORT=str(relay.port))
            self.assertTrue(relay.cut.is_set())
            self.assert_exit(done, 4)
            if forward:
                self.wait_for(lambda: self.rows() == 1, "the server has ended the call that was cut off")
            again = self.idem(*CREATE, "--key", key, "--json")
            self.assert_exit(again, 0)
            self.assertEqual(json.loads(again.stdout)["outcome"], outcome)

    def test_ends_within_its_timeout_where_a_server_never_answers(self):
        with socket.create_server(("127.0.0.1", 0)) as mute:
            done = self.idem(*CREATE, "--key", "k", "--timeout", "1", PGHOST="127.0.0.1",
                             PGPORT=str(mute.getsockname()[1]))
        self.assert_exit(done, 3)

    def test_finds_the_database_as_libpq_does(self):
        service = self.file("service.conf", f"[ledger]\ndbname={self.database}\n")
        done = self.idem(*CREATE, "--key", "k", PGSERVICEFILE=str(service), PGSERVICE="ledger", PGDATABASE="nowhere")
        self.assert_exit(done, 0)
        done = self.idem("--dsn", f"dbname={self.database}", *CREATE, "--key", "k", PGDATABASE="nowhere")
        self.assert_exit(done, 0)
        self.assertIn("replayed", done.stdout)
        done = self.idem(*CREATE, "--key", "k", "--dsn", "nonsense")
        self.assert_exit(done, 3)

    def test_shows_no_part_of_a_password(self):
        for dsn in ("host=127.0.0.1 password=open sesame", "postgresql://app:ses%ame@127.0.0.1/shop",
                    "postgresql://app:sesame@[::1/shop", "postgresql://app:sesame/open@127.0.0.1/shop",
                    "host=127.0.0.1 port=1 password=sesame", "postgresql://app:sesame@127.0.0.1:1/shop"):
            for command in (["create", *CREATE[1:], "--key", "k"], ["show", "--tenant", "t", "--key", "k"], ["audit"],
                            ["verify", "--seconds", "1"]):
                done = self.idem(*command, "--dsn", dsn)
                self.assertNotEqual(done.returncode, 0)
                self.assertNotIn("same", done.stdout + done.stderr, (dsn, command))

    def test_calls_in_the_schema_that_is_given(self):
        self.sql('DROP EXTENSION idem; DROP TABLE idem_transactions; CREATE SCHEMA "my pay"; '
                 'CREATE EXTENSION idem SCHEMA "my pay"')
        self.assert_exit(self.idem(*CREATE, "--key", "k", "--schema", "my pay"), 0)
        self.assertEqual(self.sql('SELECT idempotency_key FROM "my pay".idem_transactions'), "k")

    def test_tells_that_the_extension_is_missing(self):
        self.sql("DROP EXTENSION idem")
        done = self.idem(*CREATE, "--key", "k")
        self.assert_exit(done, 8)
        self.assertRegex(done.stderr, r"\(42883\)|\(42704\)")


class ShowTest(CliCase):
    def setUp(self):
        super().setUp()
        self.created = json.loads(self.idem(
            *CREATE, "--key", "k", "--order-ref", "o", "--details", '{"big": 1180591620717411303424, "rate": 0.10}',
            "--json").stdout)
        del self.created["outcome"]

    def shown(self, *arguments, **environment):
        done = self.idem("show", *arguments, "--json", **environment)
        self.assert_exit(done, 0)
        return done.stdout

    def test_finds_a_row_in_every_way(self):
        transaction_id = self.created["transaction_id"]
        for arguments in (("--tenant", "t", "--key", "k"), ("--tenant", "t", "--order-ref", "o"),
                          ("--tenant", "t", "--id", transaction_id), (transaction_id,), ("--id", transaction_id),
                          ("--tenant", "t", "--key", "k", "--operation", "create-transaction")):
            row = json.loads(self.shown(*arguments))
            self.assertEqual({name: row[name] for name in self.created}, self.created)
            self.assertEqual(row["request_hash"], self.sql("SELECT encode(request_hash, 'hex') FROM idem_transactions"))
            self.assertEqual(row["hash_version"], 1)

    def test_shows_values_as_they_are_stored(self):
        text = self.shown("--tenant", "t", "--key", "k", PGTZ="Asia/Tokyo", PGDATESTYLE="German",
                          PGCLIENTENCODING="LATIN1")
        self.assertIn(self.sql("SELECT details FROM idem_transactions"), text)
        self.assertIn(f'"{self.created["created_at"]}"', text)
        self.sql("UPDATE idem_transactions SET created_at = 'infinity', idempotency_key = E'k\\u001b[2J'")
        self.assertEqual(json.loads(self.shown("--tenant", "t", "--order-ref", "o"))["created_at"], "infinity")
        human = self.idem("show", "--tenant", "t", "--order-ref", "o")
        self.assertNotIn("\x1b", human.stdout)
        self.assertIn("k\\u001b[2J", human.stdout)

    def test_what_it_shows_can_be_loaded(self):
        row = self.file("row.jsonl", self.shown("--tenant", "t", "--key", "k"))
        self.assertEqual(self.load(row, code=0), {"replayed": 1})

    def test_tells_that_there_is_no_such_row(self):
        for arguments in (("--tenant", "t", "--key", "other"), ("--tenant", "u", "--key", "k"), (str(uuid.uuid4()),),
                          ("--tenant", "t", "--key", "k", "--operation", "refund"),
                          ("--tenant", "u", "--id", self.created["transaction_id"])):
            done = self.idem("show", *arguments)
            self.assert_exit(done, 1)
            self.assertEqual(done.stdout, "")
            self.assertIn("no such transaction", done.stderr)

    def test_refuses_what_names_no_row(self):
        for arguments in ((), ("--tenant", "t"), ("--key", "k"), ("--order-ref", "o"),
                          ("--tenant", "t", "--key", "k", "--order-ref", "o"), ("--key", "k", str(uuid.uuid4()))):
            self.assert_exit(self.idem("show", *arguments), 2)
        self.assert_exit(self.idem("show", "no-uuid"), 7)

    def test_reads_where_nothing_may_be_written(self):
        self.sql(f"ALTER DATABASE {self.database} SET default_transaction_read_only = on")
        self.shown("--tenant", "t", "--key", "k")

    def test_finds_the_ledger_by_itself(self):
        self.sql("DROP EXTENSION idem")
        self.shown("--tenant", "t", "--key", "k")
        self.sql('CREATE SCHEMA "my pay"; ALTER TABLE idem_transactions SET SCHEMA "my pay"; '
                 'CREATE EXTENSION idem SCHEMA "my pay"')
        self.shown("--tenant", "t", "--key", "k")
        self.sql("DROP EXTENSION idem")
        done = self.idem("show", "--tenant", "t", "--key", "k")
        self.assert_exit(done, 8)
        self.assertIn("(42704)", done.stderr)
        self.shown("--tenant", "t", "--key", "k", "--schema", "my pay")

    def test_shows_both_tenants_that_share_an_id(self):
        self.assertEqual(self.load("-", "--format", "jsonl", stdin=line("k", tenant_id="u"), code=0), {"created": 1})
        self.sql("UPDATE idem_transactions SET id = '00000000-0000-7000-8000-000000000000'")
        rows = self.shown("00000000-0000-7000-8000-000000000000").splitlines()
        self.assertEqual([json.loads(row)["tenant_id"] for row in rows], ["t", "u"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
