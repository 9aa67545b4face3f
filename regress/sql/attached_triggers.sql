-- Triggers and policies on an attached table: as in a plain INSERT, and where they make a call impossible, an error.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
SET statement_timeout = '10s';
DROP ROLE IF EXISTS regress_idem_app;
CREATE SCHEMA triggers;
SET search_path = triggers, public;
CREATE TABLE pay (id bigserial PRIMARY KEY, tenant_id text NOT NULL, operation text NOT NULL, idempotency_key text NOT NULL,
  request_hash bytea, amount int, invoice_no text UNIQUE, CONSTRAINT pay_scope UNIQUE (tenant_id, operation, idempotency_key));
SELECT idem_attach('pay');
CREATE FUNCTION call(key text, r jsonb DEFAULT '{"amount": 1}', OUT outcome idem_outcome, OUT amount int, OUT invoice_no text)
LANGUAGE sql AS $$
  SELECT outcome, ("row" ->> 'amount')::int, "row" ->> 'invoice_no' FROM public.idem_insert('triggers.pay', 't', key, r, 'op')
$$;
CREATE TABLE log (number bigserial, what text);
CREATE FUNCTION act() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;

-- One that changes another column: the stored row comes back, and a retry replays it.
CREATE OR REPLACE FUNCTION act() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.amount := NEW.amount * 10;
  INSERT INTO triggers.log (what) VALUES (NEW.idempotency_key);
  RETURN NEW;
END $$;
CREATE TRIGGER act BEFORE INSERT ON pay FOR EACH ROW EXECUTE FUNCTION act();
SELECT * FROM call('k1');
SELECT * FROM call('k1');
\set VERBOSITY default
SELECT * FROM call('k1', '{"amount": 10}');
\set VERBOSITY sqlstate
SELECT * FROM call('k1', '{"amount": 2}');
SELECT what FROM log ORDER BY number;
-- A row from before the table was attached is compared by its columns.
INSERT INTO pay (tenant_id, operation, idempotency_key, amount) VALUES ('t', 'op', 'old', 5);
SELECT * FROM call('old', '{"amount": 50}');
SELECT * FROM call('old', '{"amount": 5}');
-- One that fills in a further unique column: the clash is named, and twins in one session replay.
CREATE OR REPLACE FUNCTION act() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.invoice_no := coalesce(NEW.invoice_no, 'no-' || NEW.amount);
  RETURN NEW;
END $$;
SELECT * FROM call('k2', '{"amount": 7}');
SELECT * FROM call('k2', '{"amount": 7}');
SELECT * FROM call('k3', '{"amount": 7}');
DROP TRIGGER act ON pay;
DELETE FROM pay;

-- AFTER triggers see the row, and can refuse it; a replay does not fire them.
CREATE OR REPLACE FUNCTION act() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO triggers.log (what) VALUES (TG_LEVEL || coalesce(NEW.idempotency_key, ''));
  IF NEW.amount > 100 THEN
    RAISE 'too much' USING ERRCODE = 'ZZ001';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER act AFTER INSERT ON pay FOR EACH ROW EXECUTE FUNCTION act();
CREATE TRIGGER act_too AFTER INSERT ON pay FOR EACH STATEMENT EXECUTE FUNCTION act();
TRUNCATE log;
SELECT * FROM call('k1');
SELECT * FROM call('k1');
SELECT * FROM call('k2', '{"amount": 101}');
SELECT * FROM call('k2', '{"amount": 100}');
SELECT what FROM log ORDER BY number;
DROP TRIGGER act ON pay;
DROP TRIGGER act_too ON pay;
DELETE FROM pay;

-- H14, H68: one that suppresses the row, an error that names the index; a row that is there replays all the same.
SELECT * FROM call('there');
CREATE OR REPLACE FUNCTION act() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
CREATE TRIGGER act BEFORE INSERT ON pay FOR EACH ROW EXECUTE FUNCTION act();
\set VERBOSITY default
SELECT * FROM call('k1');
\set VERBOSITY sqlstate
SELECT * FROM call('k1', '{"invoice_no": "i"}');
SELECT * FROM idem_try_insert('pay', 't', 'k1', '{}', 'op');
SELECT * FROM call('there');
SELECT count(*) FROM pay;
-- H68: one that changes the key or another part of the scope.
CREATE OR REPLACE FUNCTION act() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.idempotency_key := upper(NEW.idempotency_key);
  RETURN NEW;
END $$;
\set VERBOSITY default
SELECT * FROM call('k1');
\set VERBOSITY sqlstate
SELECT * FROM call('K1');
SELECT * FROM call('k1');
CREATE OR REPLACE FUNCTION act() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.tenant_id := 'other'; RETURN NEW; END $$;
SELECT * FROM call('k2');
-- One that changes the fingerprint: the row is stored, and its retry is told that it cannot be compared.
CREATE OR REPLACE FUNCTION act() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.request_hash := sha256('x'); RETURN NEW; END $$;
SELECT * FROM call('k2');
SELECT * FROM call('k2');
CREATE OR REPLACE FUNCTION act() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.request_hash := NULL; RETURN NEW; END $$;
SELECT * FROM call('k3');
SELECT * FROM call('k3');
SELECT * FROM call('k3', '{"amount": 2}');
SELECT tenant_id, idempotency_key FROM pay ORDER BY 1, 2;
DELETE FROM pay;
-- H68: one that inserts the same key itself, by hand and through idem: one row, which the call replays.
CREATE OR REPLACE FUNCTION act() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF pg_trigger_depth() = 1 THEN
    INSERT INTO triggers.pay SELECT NEW.* ON CONFLICT DO NOTHING;
  END IF;
  RETURN NEW;
END $$;
SELECT * FROM call('k1');
SELECT * FROM call('k1');
CREATE OR REPLACE FUNCTION act() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF pg_trigger_depth() = 1 THEN
    PERFORM triggers.call(NEW.idempotency_key, jsonb_build_object('amount', NEW.amount));
  END IF;
  RETURN NEW;
END $$;
SELECT * FROM call('k2');
SELECT * FROM call('k2');
SELECT idempotency_key FROM pay ORDER BY 1;
-- Calls within calls, of other keys and columns, deep.
CREATE OR REPLACE FUNCTION act() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.amount > 0 THEN
    PERFORM triggers.call('deep' || NEW.amount - 1, jsonb_build_object('amount', NEW.amount - 1, 'invoice_no', 'i' || NEW.amount));
  END IF;
  RETURN NEW;
END $$;
SELECT * FROM call('deep', '{"amount": 20}');
SELECT * FROM call('deep', '{"amount": 20}');
SELECT count(*) FROM pay WHERE idempotency_key LIKE 'deep%';
-- Failures that are caught, 1000 times, each with a good call afterwards. H56
CREATE OR REPLACE FUNCTION act() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.amount < 0 THEN
    RAISE 'negative' USING ERRCODE = 'ZZ002';
  END IF;
  RETURN NEW;
END $$;
DO $$
DECLARE
  answer record;
BEGIN
  FOR round IN 1..1000 LOOP
    BEGIN
      PERFORM triggers.call('s' || round, '{"amount": -1}');
      RAISE 'accepted';
    EXCEPTION WHEN SQLSTATE 'ZZ002' THEN
      NULL;
    END;
    answer := triggers.call('s' || round);
    ASSERT answer.outcome = 'created';
    answer := triggers.call('s' || round);
    ASSERT answer.outcome = 'replayed';
  END LOOP;
END $$;
SELECT count(*) FROM pay WHERE idempotency_key LIKE 's%';
DROP TRIGGER act ON pay;
DELETE FROM pay;
-- A replay is answered though a trigger that would fire is gone wrong since.
SELECT * FROM call('k1');
CREATE OR REPLACE FUNCTION act() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN missing(); END $$;
CREATE TRIGGER act BEFORE INSERT ON pay FOR EACH STATEMENT EXECUTE FUNCTION act();
SELECT * FROM call('k1');
SELECT * FROM call('k2');
DROP TRIGGER act ON pay;
DELETE FROM pay;

-- Policies: a role writes and replays what it may see, and nothing else. H63
CREATE ROLE regress_idem_app;
GRANT USAGE ON SCHEMA triggers TO regress_idem_app;
GRANT SELECT, INSERT ON pay TO regress_idem_app;
GRANT USAGE ON SEQUENCE pay_id_seq TO regress_idem_app;
ALTER TABLE pay ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON pay USING (tenant_id = current_setting('triggers.tenant', true));
SET ROLE regress_idem_app;
SET triggers.tenant = 't';
SELECT * FROM call('k1');
SELECT * FROM call('k1');
SELECT * FROM idem_insert('pay', 't2', 'k1', '{}', 'op');
SET triggers.tenant = 't2';
SELECT outcome FROM idem_insert('pay', 't2', 'k1', '{}', 'op');
SELECT * FROM call('k1');
RESET ROLE;
SELECT * FROM call('k1');
SELECT * FROM call('k1', '{"amount": 2}');
-- One role after the other in a session with its plans.
SET ROLE regress_idem_app;
SELECT * FROM call('k2');
SET triggers.tenant = 't';
SELECT * FROM call('k1');
SELECT * FROM call('k2');
RESET ROLE;
SELECT tenant_id, idempotency_key FROM pay ORDER BY 1, 2;
-- A policy that lets a row in but does not show it.
DROP POLICY tenant ON pay;
CREATE POLICY writes ON pay FOR INSERT WITH CHECK (true);
SET ROLE regress_idem_app;
SELECT * FROM call('k9');
RESET ROLE;
-- H64: a key that is unique beyond what the policies show: an error, never no row.
CREATE TABLE shared (tenant_id text NOT NULL, idempotency_key text NOT NULL UNIQUE, request_hash bytea, note text,
  UNIQUE (tenant_id, idempotency_key));
SELECT idem_attach('shared', id_column => NULL, fixed_operation => 'op');
SELECT outcome FROM idem_insert('shared', 't1', 'taken', '{"note": "secret"}');
ALTER TABLE shared ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON shared USING (tenant_id = 't2');
GRANT SELECT, INSERT ON shared TO regress_idem_app;
SET ROLE regress_idem_app;
SELECT outcome FROM idem_insert('shared', 't2', 'free', '{}');
SELECT outcome FROM idem_insert('shared', 't2', 'free', '{}');
\set VERBOSITY default
SELECT outcome FROM idem_insert('shared', 't2', 'taken', '{}');
SELECT outcome FROM idem_insert('shared', 't1', 'taken', '{}');
RESET ROLE;
DROP POLICY tenant ON shared;
CREATE POLICY reads ON shared FOR SELECT USING (tenant_id = 't2');
CREATE POLICY writes ON shared FOR INSERT WITH CHECK (true);
SET ROLE regress_idem_app;
SELECT outcome FROM idem_insert('shared', 't1', 'taken', '{}');
\set VERBOSITY sqlstate
RESET ROLE;
SELECT tenant_id, idempotency_key FROM shared ORDER BY 1, 2;

DROP SCHEMA triggers CASCADE;
DROP ROLE regress_idem_app;
