-- An attached table that changes while a session has its plans, and calls that meet changes from within.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE SCHEMA changes;
SET search_path = changes, public;
CREATE TABLE pay (id bigserial PRIMARY KEY, tenant_id text NOT NULL, operation text NOT NULL, idempotency_key text NOT NULL,
  request_hash bytea, amount int, note text, CONSTRAINT pay_scope UNIQUE (tenant_id, operation, idempotency_key));
SELECT idem_attach('pay');
CREATE FUNCTION call(key text, r jsonb DEFAULT '{"amount": 1}', OUT outcome idem_outcome, OUT "row" jsonb) LANGUAGE sql AS $$
  SELECT outcome, "row" - '{tenant_id,operation,idempotency_key,request_hash,id}'::text[]
  FROM public.idem_insert('changes.pay', 't', key, r, 'op')
$$;
SELECT * FROM call('k1');
-- Columns come, go, and get other names, types and defaults.
\set VERBOSITY sqlstate
SELECT * FROM call('k2', '{"added": 1}');
ALTER TABLE pay ADD added int DEFAULT 3;
SELECT * FROM call('k1');
SELECT * FROM call('k2', '{"added": 1}');
SELECT * FROM call('k3');
ALTER TABLE pay ALTER added SET DEFAULT 4;
SELECT * FROM call('k4');
ALTER TABLE pay ALTER added TYPE text USING 'was ' || added;
SELECT * FROM call('k5', '{"added": "x"}');
SELECT * FROM call('k3');
ALTER TABLE pay RENAME added TO renamed;
SELECT * FROM call('k6', '{"added": "x"}');
SELECT * FROM call('k6', '{"renamed": "x"}');
ALTER TABLE pay RENAME note TO added;
ALTER TABLE pay RENAME renamed TO note;
SELECT * FROM call('k7', '{"added": "now text", "note": "was added"}');
ALTER TABLE pay DROP added;
SELECT * FROM call('k8', '{"added": "x"}');
SELECT * FROM call('k8');
SELECT * FROM call('k1');
ALTER TABLE pay ADD added boolean NOT NULL DEFAULT true, ADD CHECK (amount < 1000);
SELECT * FROM call('k9', '{"amount": 1, "added": false}');
SELECT * FROM call('k10', '{"amount": 1000}');
-- The id's sequence is gone: what is not given any more must be given.
ALTER TABLE pay ALTER id DROP DEFAULT;
SELECT * FROM call('k10');
SELECT outcome FROM call('k10', '{"id": 1000}');
SELECT outcome FROM call('k10', '{"id": 1000}');
SELECT outcome FROM call('k11', '{"id": 1000}');
ALTER TABLE pay ALTER id SET DEFAULT nextval('changes.pay_id_seq');
-- A further unique key comes and goes.
CREATE UNIQUE INDEX pay_note ON pay (amount) WHERE amount > 10;
SELECT outcome FROM call('k12', '{"amount": 11}');
SELECT outcome FROM call('k12', '{"amount": 11}');
SELECT outcome FROM call('k13', '{"amount": 11}');
DROP INDEX pay_note;
SELECT outcome FROM call('k13', '{"amount": 11}');
-- The protection goes, and comes back as another index.
ALTER TABLE pay DROP CONSTRAINT pay_scope;
SELECT * FROM call('k1');
SELECT * FROM call('k14');
CREATE UNIQUE INDEX pay_other ON pay (idempotency_key, tenant_id, operation);
SELECT outcome FROM call('k1');
SELECT outcome FROM call('k14');
ALTER TABLE pay ALTER idempotency_key DROP NOT NULL;
SELECT outcome FROM call('k1');
ALTER TABLE pay ALTER idempotency_key SET NOT NULL;
ALTER TABLE pay ALTER request_hash TYPE text USING encode(request_hash, 'hex');
SELECT outcome FROM call('k1');
ALTER TABLE pay ALTER request_hash TYPE bytea USING decode(request_hash, 'hex');
SELECT outcome FROM call('k1');
CREATE RULE also AS ON INSERT TO pay DO ALSO NOTIFY pay;
SELECT outcome FROM call('k1');
DROP RULE also ON pay;
-- A column of the registry is dropped: an error that says which.
BEGIN;
\set ON_ERROR_ROLLBACK on
ALTER TABLE pay DROP request_hash;
\set VERBOSITY default
SELECT outcome FROM call('k1');
\set VERBOSITY sqlstate
ALTER TABLE pay ADD request_hash bytea;
SELECT outcome FROM call('k1');
SELECT idem_attach('pay');
SELECT outcome FROM call('k1');
ROLLBACK;
BEGIN;
ALTER TABLE pay DROP id;
SELECT outcome FROM call('k1');
SELECT outcome FROM call('k20');
ROLLBACK;
\set ON_ERROR_ROLLBACK off
SELECT outcome FROM call('k1');
-- Changes that are undone, with and without a savepoint.
BEGIN;
ALTER TABLE pay ADD undone int DEFAULT 1;
SELECT * FROM call('undone', '{"undone": 2}');
ROLLBACK;
SELECT outcome FROM call('k1');
SELECT outcome FROM call('undone');
BEGIN;
SAVEPOINT s;
ALTER TABLE pay ADD undone int DEFAULT 1;
ALTER TABLE pay ALTER amount TYPE bigint;
SELECT outcome FROM call('undone 2', '{"undone": 2, "amount": -99999999999}');
ROLLBACK TO s;
SELECT outcome FROM call('undone 2');
SELECT outcome FROM call('undone 2', '{"undone": 2}');
ROLLBACK;
BEGIN;
SELECT idem_detach('pay');
SAVEPOINT s;
SELECT outcome FROM call('k1');
ROLLBACK;
SELECT outcome FROM call('k1');
BEGIN;
SAVEPOINT s;
SELECT idem_attach('pay', exclude => '{$.amount}');
SELECT outcome FROM call('excluded', '{"amount": 1}');
SELECT outcome FROM call('excluded', '{"amount": 2}');
ROLLBACK TO s;
SELECT outcome FROM call('excluded', '{"amount": 1}');
SELECT outcome FROM call('excluded', '{"amount": 2}');
ROLLBACK;
-- An emptied registry has no tables, and a new one neither; both come back.
BEGIN;
SAVEPOINT s;
TRUNCATE public.idem_tables;
SELECT outcome FROM call('k1');
ROLLBACK TO s;
SELECT outcome FROM call('k1');
SET LOCAL search_path = changes;
DROP EXTENSION idem CASCADE;
CREATE EXTENSION idem SCHEMA public;
SELECT outcome FROM public.idem_insert('pay', 't', 'k1', '{}', 'op');
ROLLBACK;
SELECT outcome FROM call('k1');
-- A table of that name in its place is another one.
ALTER TABLE pay RENAME TO old;
CREATE TABLE pay (LIKE old INCLUDING ALL);
SELECT outcome FROM idem_insert('pay', 't', 'k1', '{"amount": 1}', 'op');
SELECT outcome FROM idem_insert('old', 't', 'k1', '{"amount": 1}', 'op');
SELECT target_name FROM idem_tables WHERE target_name LIKE 'changes.%';
DROP TABLE pay;
ALTER TABLE old RENAME TO pay;
SELECT outcome FROM call('k1');
-- So is one of that name in a schema of that name.
ALTER SCHEMA changes RENAME TO changes_old;
CREATE SCHEMA changes;
CREATE TABLE changes.pay (LIKE changes_old.pay INCLUDING ALL);
SELECT outcome FROM idem_insert('changes_old.pay', 't', 'k1', '{"amount": 1}', 'op');
SELECT outcome FROM idem_insert('changes_old.pay', 't', 'renamed', '{"amount": 1}', 'op');
SELECT count(*) FROM changes.pay;
DROP SCHEMA changes CASCADE;
ALTER SCHEMA changes_old RENAME TO changes;
SELECT outcome FROM call('k1');

-- Changes from within a call: the server or idem refuses them, and the session goes on.
CREATE FUNCTION act() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.note IS NOT NULL THEN
    EXECUTE NEW.note;
  END IF;
  RETURN NEW;
END $$;
ALTER TABLE pay ALTER note DROP DEFAULT;
CREATE TRIGGER act BEFORE INSERT ON pay FOR EACH ROW EXECUTE FUNCTION act();
-- What becomes of a call, all of which is undone: "answered", or the SQLSTATE.
CREATE FUNCTION undone(r jsonb) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM public.idem_insert('changes.pay', 't', 'within', r, 'op');
  RAISE 'answered' USING ERRCODE = 'ZZ000';
EXCEPTION WHEN OTHERS THEN
  RETURN CASE SQLSTATE WHEN 'ZZ000' THEN 'answered' ELSE SQLSTATE END;
END $$;
SELECT what, undone(jsonb_build_object('note', what)) FROM (VALUES
  ('ALTER TABLE changes.pay ADD within int'),
  ('ALTER TABLE changes.pay ALTER amount TYPE text'),
  ('ALTER TABLE changes.pay RENAME amount TO a'),
  ('ALTER TABLE changes.pay RENAME idempotency_key TO a'),
  ('DROP TABLE changes.pay'),
  ('TRUNCATE changes.pay'),
  ('DELETE FROM changes.pay'),
  ('CREATE UNIQUE INDEX ON changes.pay (id, amount)'),
  ('DROP INDEX changes.pay_other'),
  ('ANALYZE changes.pay'),
  ('SELECT changes.call(''w2'')'),
  ('SELECT changes.call(''w2'', ''{"note": "ALTER TABLE changes.pay ADD within int"}'')'),
  ('ALTER TABLE changes.pay RENAME TO paid'),
  ('ALTER TABLE changes.pay RENAME TO paid; SELECT idem_insert(''changes.paid'', ''t'', ''w2'', ''{}'', ''op'')'),
  ('ALTER SCHEMA changes RENAME TO changed'),
  ('SELECT public.idem_detach(''changes.pay'')'),
  ('SELECT public.idem_detach(''changes.pay''); SELECT changes.call(''w2'')'),
  ('SELECT public.idem_attach(''changes.pay''); SELECT changes.call(''w2'')'),
  ('DROP EXTENSION idem CASCADE')) v (what);
SELECT outcome FROM call('k1');
SELECT outcome FROM call('w1', '{"note": "SELECT 1"}');
SELECT outcome FROM call('w1', '{"note": "SELECT 1"}');
DROP TRIGGER act ON pay;
-- The same from the CHECK of a domain, which runs while the row is still being read.
CREATE FUNCTION run(statement text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  IF statement LIKE '% %' THEN
    EXECUTE statement;
  END IF;
  RETURN true;
END $$;
CREATE DOMAIN command AS text CHECK (changes.run(VALUE));
ALTER TABLE pay ADD command command;
SELECT what, undone(jsonb_build_object('command', what)) FROM (VALUES
  ('ALTER TABLE changes.pay ADD within int'),
  ('ALTER TABLE changes.pay DROP amount'),
  ('ALTER TABLE changes.pay ALTER amount TYPE bigint'),
  ('ALTER TABLE changes.pay ALTER request_hash TYPE text'),
  ('ALTER TABLE changes.pay DROP COLUMN request_hash, ADD COLUMN request_hash int'),
  ('ALTER TABLE changes.pay RENAME amount TO a'),
  ('DROP INDEX changes.pay_other'),
  ('DROP TABLE changes.pay'),
  ('TRUNCATE changes.pay'),
  ('ANALYZE changes.pay'),
  ('ALTER TABLE changes.pay RENAME TO paid'),
  ('ALTER TABLE changes.pay ADD within int; SELECT changes.call(''w2'')'),
  ('SELECT changes.call(''w2'')'),
  ('SELECT public.idem_detach(''changes.pay'')'),
  ('SELECT public.idem_attach(''changes.pay''); SELECT changes.call(''w2'')'),
  ('DROP EXTENSION idem CASCADE')) v (what);
SELECT outcome FROM call('k1');
SELECT outcome FROM call('d1', '{"command": "SELECT changes.call(''d2'')"}');
SELECT outcome FROM call('d1', '{"command": "SELECT changes.call(''d2'')"}');
SELECT outcome FROM call('d2');
-- Dropped in the middle of a statement.
CREATE FUNCTION drop_it(n int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  IF n = 2 THEN
    DROP EXTENSION idem CASCADE;
  END IF;
  RETURN 'x' || n;
END $$;
BEGIN;
SELECT 'answered' FROM generate_series(1, 3) n, LATERAL (SELECT drop_it(n) AS key OFFSET 0) d,
  LATERAL public.idem_insert('changes.pay', 't', key, '{}', 'op');
ROLLBACK;
SELECT outcome FROM call('k1');
-- And before the first call of a session.
\c -
\set VERBOSITY sqlstate
SET client_min_messages = warning;
SET search_path = changes, public;
BEGIN;
SELECT 'answered' FROM generate_series(2, 3) n, LATERAL (SELECT drop_it(n) AS key OFFSET 0) d,
  LATERAL public.idem_insert('changes.pay', 't', key, '{}', 'op');
ROLLBACK;
SELECT outcome FROM call('k1');

-- A domain gets a default with an effect; a replay has none, also in a session that knows the table.
CREATE SEQUENCE numbers;
CREATE DOMAIN number AS bigint DEFAULT 0;
CREATE TABLE numbered (tenant_id text NOT NULL, idempotency_key text NOT NULL, request_hash bytea, n number,
  UNIQUE (tenant_id, idempotency_key));
SELECT idem_attach('numbered', fixed_operation => 'op', id_column => NULL);
SELECT outcome, "row" ->> 'n' AS n FROM idem_insert('numbered', 't', 'k1', '{}');
ALTER DOMAIN number SET DEFAULT nextval('changes.numbers');
SELECT outcome, "row" ->> 'n' AS n FROM idem_insert('numbered', 't', 'k1', '{}');
SELECT is_called FROM numbers;
SELECT outcome, "row" ->> 'n' AS n FROM idem_insert('numbered', 't', 'k2', '{}');

DROP SCHEMA changes CASCADE;
SELECT count(*) FROM idem_tables;
