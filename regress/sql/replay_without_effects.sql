-- A replay changes nothing, whatever the table does with new rows: checks, further columns, triggers.
\set VERBOSITY sqlstate
\set SHOW_CONTEXT never
SET client_min_messages = warning;

-- Two rounds of replays and a conflict, in one transaction; whether that got a transaction id.
CREATE FUNCTION pg_temp.replay() RETURNS TABLE (plain text, ordered text, changed text, no_xid bool) LANGUAGE plpgsql AS $$
BEGIN
  FOR round IN 1..2 LOOP
    plain := concat_ws(' ', plain, (idem_create_transaction('t', 'plain', 5000, 'EUR')).outcome);
    ordered := concat_ws(' ', ordered, (idem_create_transaction('t', 'ordered', 5000, 'EUR', order_ref => 'o')).outcome);
    changed := concat_ws(' ', changed, (idem_try_create_transaction('t', 'plain', 6000, 'EUR')).outcome);
  END LOOP;
  no_xid := pg_current_xact_id_if_assigned() IS NULL;
  RETURN NEXT;
END $$;
SELECT outcome FROM idem_create_transaction('t', 'plain', 5000, 'EUR');
SELECT outcome FROM idem_create_transaction('t', 'ordered', 5000, 'EUR', order_ref => 'o');
SELECT * FROM pg_temp.replay();

-- A check that the stored rows break.
ALTER TABLE idem_transactions ADD CONSTRAINT regress_cap CHECK (amount_minor < 1000) NOT VALID;
SELECT * FROM pg_temp.replay();
SELECT idem_create_transaction('t', 'plain', 6000, 'EUR');
SELECT idem_create_transaction('t', 'ordered', 6000, 'EUR', order_ref => 'o');
SELECT idem_create_transaction('t', 'new', 5000, 'EUR');
SELECT outcome FROM idem_create_transaction('t', 'new', 500, 'EUR');
ALTER TABLE idem_transactions DROP CONSTRAINT regress_cap;
DELETE FROM idem_transactions WHERE idempotency_key = 'new';

-- A further column that is NOT NULL, and no longer has the default that the old rows got.
ALTER TABLE idem_transactions ADD must text NOT NULL DEFAULT 'then';
ALTER TABLE idem_transactions ALTER must DROP DEFAULT;
SELECT * FROM pg_temp.replay();
SELECT idem_create_transaction('t', 'plain', 6000, 'EUR');
SELECT idem_create_transaction('t', 'new', 5000, 'EUR');
ALTER TABLE idem_transactions DROP must;

-- A further column with a sequence of its own, and one with a volatile default: replays draw no number.
CREATE SEQUENCE regress_numbers;
ALTER TABLE idem_transactions ADD no bigint GENERATED ALWAYS AS IDENTITY, ADD other bigint DEFAULT nextval('regress_numbers');
SELECT last_value AS before FROM idem_transactions_no_seq;
SELECT * FROM pg_temp.replay();
SELECT last_value AS after FROM idem_transactions_no_seq;
SELECT last_value AS other FROM regress_numbers;
SELECT outcome FROM idem_create_transaction('t', 'new', 5000, 'EUR');
SELECT no, other FROM idem_transactions WHERE idempotency_key = 'new';
ALTER TABLE idem_transactions DROP no, DROP other;
DROP SEQUENCE regress_numbers;
DELETE FROM idem_transactions WHERE idempotency_key = 'new';

-- Triggers that write: before each row, and around each statement.
CREATE TABLE audit (entry text);
CREATE FUNCTION regress_effect() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO audit VALUES (lower(TG_WHEN || ' ' || TG_LEVEL));
  RETURN NEW;
END $$;
CREATE TRIGGER regress_effect BEFORE INSERT ON idem_transactions FOR EACH ROW EXECUTE FUNCTION regress_effect();
SELECT * FROM pg_temp.replay();
SELECT idem_create_transaction('t', 'plain', 6000, 'EUR');
SELECT count(*) FROM audit;
SELECT outcome FROM idem_create_transaction('t', 'new', 5000, 'EUR');
SELECT entry FROM audit;
TRUNCATE audit;
DROP TRIGGER regress_effect ON idem_transactions;
DELETE FROM idem_transactions WHERE idempotency_key = 'new';

CREATE TRIGGER regress_effect BEFORE INSERT ON idem_transactions FOR EACH STATEMENT EXECUTE FUNCTION regress_effect();
SELECT * FROM pg_temp.replay();
SELECT count(*) FROM audit;
DROP TRIGGER regress_effect ON idem_transactions;

CREATE TRIGGER regress_effect AFTER INSERT ON idem_transactions FOR EACH STATEMENT EXECUTE FUNCTION regress_effect();
SELECT * FROM pg_temp.replay();
SELECT count(*) FROM audit;
SELECT outcome FROM idem_create_transaction('t', 'new', 5000, 'EUR');
SELECT entry FROM audit;
DROP TRIGGER regress_effect ON idem_transactions;
DROP FUNCTION regress_effect;
DROP TABLE audit;
DELETE FROM idem_transactions WHERE idempotency_key = 'new';

-- Triggers that raise: a replay still succeeds, and a changed request is ID001.
CREATE FUNCTION regress_closed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE 'closed' USING ERRCODE = 'ZZ999';
END $$;
CREATE TRIGGER regress_closed BEFORE INSERT ON idem_transactions FOR EACH ROW EXECUTE FUNCTION regress_closed();
SELECT * FROM pg_temp.replay();
SELECT idem_create_transaction('t', 'plain', 6000, 'EUR');
SELECT idem_create_transaction('t', 'new', 5000, 'EUR');
DROP TRIGGER regress_closed ON idem_transactions;
CREATE TRIGGER regress_closed BEFORE INSERT ON idem_transactions FOR EACH STATEMENT EXECUTE FUNCTION regress_closed();
SELECT * FROM pg_temp.replay();
SELECT idem_create_transaction('t', 'plain', 6000, 'EUR');
SELECT idem_create_transaction('t', 'new', 5000, 'EUR');
DROP TRIGGER regress_closed ON idem_transactions;
DROP FUNCTION regress_closed;

SELECT idempotency_key, amount_minor FROM idem_transactions ORDER BY 1;

-- A unique index on an expression that fails for the changed request, and is looked at before the scope's.
BEGIN;
CREATE UNIQUE INDEX ON idem_transactions (tenant_id, ((details->>'n')::int));
CREATE UNIQUE INDEX ON idem_transactions (tenant_id, operation, idempotency_key);
ALTER TABLE idem_transactions DROP CONSTRAINT idem_transactions_scope_key;
SELECT outcome FROM idem_create_transaction('t', 'expression', 1, 'EUR', '{"n": "1"}');
SELECT outcome FROM idem_try_create_transaction('t', 'expression', 1, 'EUR', '{"n": "x"}');
ROLLBACK;
-- The tests that follow get a ledger without added columns.
DROP TABLE idem_transactions;
SELECT idem_create_ledger();
