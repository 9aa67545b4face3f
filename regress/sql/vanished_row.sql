-- Inserts that neither store a row nor find one, and triggers that interfere: a clear error, and never a loop.
\set SHOW_CONTEXT never

-- H14: in every round a row stands in the way of the insert and is gone when it is to be read.
CREATE SEQUENCE rounds;
CREATE FUNCTION regress_appear() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM nextval('rounds');
  INSERT INTO idem_transactions (tenant_id, id, operation, idempotency_key, request_hash, hash_version, amount_minor, currency)
  VALUES ('t', gen_random_uuid(), 'create-transaction', 'k', sha256('x'), 1, 1, 'EUR');
  RETURN NULL;
END $$;
CREATE FUNCTION regress_vanish() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM idem_transactions;
  RETURN NULL;
END $$;
CREATE TRIGGER appear BEFORE INSERT ON idem_transactions FOR EACH STATEMENT WHEN (pg_trigger_depth() = 0)
  EXECUTE FUNCTION regress_appear();
CREATE TRIGGER vanish AFTER INSERT ON idem_transactions FOR EACH STATEMENT WHEN (pg_trigger_depth() = 0)
  EXECUTE FUNCTION regress_vanish();
\set VERBOSITY sqlstate
SELECT idem_create_transaction('t', 'k', 1, 'EUR');
SELECT last_value BETWEEN 2 AND 20 AS few_rounds FROM rounds;
SELECT idem_create_transaction('t', 'k', 1, 'EUR', order_ref => 'o');
SELECT idem_try_create_transaction('t', 'k', 1, 'EUR');
SELECT count(*) FROM idem_transactions;
-- The message says what to do.
\set VERBOSITY default
SELECT idem_create_transaction('t', 'k', 1, 'EUR');
\set VERBOSITY sqlstate
DROP TRIGGER appear ON idem_transactions;
DROP TRIGGER vanish ON idem_transactions;
DROP FUNCTION regress_appear;
DROP FUNCTION regress_vanish;
DROP SEQUENCE rounds;
SELECT outcome FROM idem_create_transaction('t', 'k', 1, 'EUR');
DELETE FROM idem_transactions;

-- H14, H68: a trigger that suppresses the row.
CREATE FUNCTION regress_trigger() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RETURN NULL;
END $$;
CREATE TRIGGER regress_trigger BEFORE INSERT ON idem_transactions FOR EACH ROW EXECUTE FUNCTION regress_trigger();
SELECT idem_create_transaction('t', 'k', 1, 'EUR');
SELECT idem_create_transaction('t', 'k', 1, 'EUR', order_ref => 'o');
SELECT idem_try_create_transaction('t', 'k', 1, 'EUR');
\set VERBOSITY default
SELECT idem_create_transaction('t', 'k', 1, 'EUR');
\set VERBOSITY sqlstate
SELECT count(*) FROM idem_transactions;
-- One that suppresses nothing that is there already: a replay.
ALTER TABLE idem_transactions DISABLE TRIGGER regress_trigger;
SELECT outcome FROM idem_create_transaction('t', 'k', 1, 'EUR');
ALTER TABLE idem_transactions ENABLE TRIGGER regress_trigger;
SELECT outcome FROM idem_create_transaction('t', 'k', 1, 'EUR');
SELECT idem_create_transaction('t', 'k', 2, 'EUR');
DELETE FROM idem_transactions;

-- H68: a trigger that changes the key, or another part of the scope; nothing is stored under the wrong one.
CREATE OR REPLACE FUNCTION regress_trigger() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.idempotency_key := upper(NEW.idempotency_key);
  RETURN NEW;
END $$;
SELECT idem_create_transaction('t', 'k', 1, 'EUR');
SELECT idem_try_create_transaction('t', 'k', 1, 'EUR');
SELECT outcome FROM idem_create_transaction('t', 'K', 1, 'EUR');
SELECT idem_create_transaction('t', 'k', 1, 'EUR');
\set VERBOSITY default
SELECT idem_create_transaction('t', 'k2', 1, 'EUR');
\set VERBOSITY sqlstate
SELECT idempotency_key FROM idem_transactions;
DELETE FROM idem_transactions;
CREATE OR REPLACE FUNCTION regress_trigger() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.tenant_id := 'other';
  RETURN NEW;
END $$;
SELECT idem_create_transaction('t', 'k', 1, 'EUR');
CREATE OR REPLACE FUNCTION regress_trigger() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.operation := NEW.operation || '-2';
  RETURN NEW;
END $$;
SELECT idem_create_transaction('t', 'k', 1, 'EUR');
SELECT count(*) FROM idem_transactions;

-- H68: a trigger that inserts the same key itself: the call finds that row, and there is one.
CREATE OR REPLACE FUNCTION regress_trigger() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF pg_trigger_depth() = 1 THEN
    INSERT INTO idem_transactions SELECT NEW.* ON CONFLICT DO NOTHING;
  END IF;
  RETURN NEW;
END $$;
SELECT outcome, amount_minor FROM idem_create_transaction('t', 'k', 1, 'EUR', order_ref => 'o');
SELECT outcome, amount_minor FROM idem_create_transaction('t', 'k2', 1, 'EUR');
SELECT outcome, amount_minor FROM idem_create_transaction('t', 'k', 1, 'EUR', order_ref => 'o');
SELECT idempotency_key FROM idem_transactions ORDER BY 1;
DELETE FROM idem_transactions;

-- A trigger that fails: its own error, and a good call afterwards, time after time.
CREATE OR REPLACE FUNCTION regress_trigger() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE 'no' USING ERRCODE = 'ZZ999';
END $$;
SELECT idem_create_transaction('t', 'k', 1, 'EUR');
SELECT idem_try_create_transaction('t', 'k', 1, 'EUR');
-- H56: 1000 failures, each followed by a good call.
DO $$
DECLARE
  answer record;
BEGIN
  FOR round IN 1..1000 LOOP
    ALTER TABLE idem_transactions ENABLE TRIGGER regress_trigger;
    BEGIN
      PERFORM idem_create_transaction('t', 'k' || round, 1, 'EUR');
      RAISE 'accepted';
    EXCEPTION WHEN SQLSTATE 'ZZ999' THEN
      NULL;
    END;
    ALTER TABLE idem_transactions DISABLE TRIGGER regress_trigger;
    answer := idem_create_transaction('t', 'k' || round, 1, 'EUR');
    ASSERT answer.outcome = 'created';
  END LOOP;
END $$;
SELECT count(*) FROM idem_transactions;
DROP TRIGGER regress_trigger ON idem_transactions;
DROP FUNCTION regress_trigger;
DELETE FROM idem_transactions;

-- A further unique key of the user: a clash is named and stores nothing; twins of one key still replay.
CREATE UNIQUE INDEX regress_invoice ON idem_transactions (tenant_id, (details->>'invoice'));
CREATE FUNCTION pg_temp.clash(call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  key text;
BEGIN
  EXECUTE 'SELECT ' || call;
  RETURN 'none';
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS key = CONSTRAINT_NAME;
  RETURN concat_ws(' ', SQLSTATE, key);
END $$;
SELECT outcome FROM idem_create_transaction('t', 'k1', 1, 'EUR', '{"invoice": "i1"}');
SELECT outcome FROM idem_create_transaction('t', 'k1', 1, 'EUR', '{"invoice": "i1"}');
SELECT outcome FROM idem_create_transaction('t', 'k2', 1, 'EUR', '{"invoice": "i2"}', order_ref => 'o2');
SELECT outcome FROM idem_create_transaction('t', 'k2', 1, 'EUR', '{"invoice": "i2"}', order_ref => 'o2');
SELECT pg_temp.clash($$idem_create_transaction('t', 'k3', 1, 'EUR', '{"invoice": "i1"}')$$);
SELECT pg_temp.clash($$idem_create_transaction('t', 'k3', 1, 'EUR', '{"invoice": "i1"}', order_ref => 'o3')$$);
SELECT pg_temp.clash($$idem_try_create_transaction('t', 'k3', 1, 'EUR', '{"invoice": "i2"}')$$);
-- The key comes first, then the order, then the rest.
SELECT pg_temp.clash($$idem_create_transaction('t', 'k1', 1, 'EUR', '{"invoice": "i2"}')$$);
SELECT pg_temp.clash($$idem_create_transaction('t', 'k3', 1, 'EUR', '{"invoice": "i1"}', order_ref => 'o2')$$);
SELECT outcome FROM idem_create_transaction('t', 'k3', 1, 'EUR', '{"invoice": "i3"}');
SELECT outcome FROM idem_create_transaction('t', 'k4', 1, 'EUR');
SELECT outcome FROM idem_create_transaction('t', 'k5', 1, 'EUR');
SELECT idempotency_key FROM idem_transactions ORDER BY 1;
DELETE FROM idem_transactions;
DROP INDEX regress_invoice;

-- H83: a deferrable unique constraint beside the scope is refused with its name; an exclusion constraint works.
BEGIN;
\set ON_ERROR_ROLLBACK on
ALTER TABLE idem_transactions ADD invoice text GENERATED ALWAYS AS (details->>'invoice') STORED,
  ADD CONSTRAINT regress_deferrable UNIQUE (tenant_id, invoice) DEFERRABLE;
\set VERBOSITY default
SELECT idem_create_transaction('t', 'k1', 1, 'EUR', '{"invoice": "i1"}');
SELECT idem_create_ledger();
\set VERBOSITY sqlstate
SELECT count(*) FROM idem_transactions;
ALTER TABLE idem_transactions DROP CONSTRAINT regress_deferrable,
  ADD CONSTRAINT regress_exclusion EXCLUDE USING btree (tenant_id WITH =, invoice WITH =);
SELECT outcome FROM idem_create_transaction('t', 'k1', 1, 'EUR', '{"invoice": "i1"}');
SELECT outcome FROM idem_create_transaction('t', 'k1', 1, 'EUR', '{"invoice": "i1"}');
SELECT outcome FROM idem_create_transaction('t', 'k2', 1, 'EUR', '{"invoice": "i2"}', order_ref => 'o2');
SELECT outcome FROM idem_create_transaction('t', 'k2', 1, 'EUR', '{"invoice": "i2"}', order_ref => 'o2');
SELECT pg_temp.clash($$idem_create_transaction('t', 'k3', 1, 'EUR', '{"invoice": "i1"}')$$);
SELECT count(*) FROM idem_transactions;
\set ON_ERROR_ROLLBACK off
ROLLBACK;
DROP FUNCTION pg_temp.clash;
