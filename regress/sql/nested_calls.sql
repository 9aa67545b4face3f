-- Triggers on the ledger that call the extension, and that change the ledger under a call.
\set VERBOSITY sqlstate
\set SHOW_CONTEXT never
SET client_min_messages = warning;

-- A further transaction for each one, made after the row and before it.
CREATE FUNCTION regress_nested() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.operation = 'create-transaction' THEN
    PERFORM idem_create_transaction(NEW.tenant_id, NEW.idempotency_key, 1, 'EUR', operation => 'fee', order_ref => NEW.order_ref);
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER regress_nested AFTER INSERT ON idem_transactions FOR EACH ROW EXECUTE FUNCTION regress_nested();
SELECT outcome, amount_minor FROM idem_create_transaction('t', 'after', 100, 'EUR', order_ref => 'o1');
SELECT outcome, amount_minor FROM idem_create_transaction('t', 'after', 100, 'EUR', order_ref => 'o1');
SELECT outcome, amount_minor FROM idem_create_transaction('t', 'after', 1, 'EUR', operation => 'fee', order_ref => 'o1');
SELECT k, outcome FROM generate_series(1, 3) k, LATERAL idem_create_transaction('t', 'after' || k, 100, 'EUR') ORDER BY k;
DROP TRIGGER regress_nested ON idem_transactions;
CREATE TRIGGER regress_nested BEFORE INSERT ON idem_transactions FOR EACH ROW EXECUTE FUNCTION regress_nested();
SELECT outcome, amount_minor FROM idem_create_transaction('t', 'before', 100, 'EUR', order_ref => 'o2');
SELECT outcome, amount_minor FROM idem_create_transaction('t', 'before', 100, 'EUR', order_ref => 'o2');
SELECT outcome, amount_minor FROM idem_create_transaction('t', 'before', 1, 'EUR', operation => 'fee', order_ref => 'o2');
SELECT operation, idempotency_key, amount_minor, order_ref FROM idem_transactions ORDER BY 1, 2;
DELETE FROM idem_transactions;

-- Its error, caught and not.
CREATE OR REPLACE FUNCTION regress_nested() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.operation = 'create-transaction' THEN
    PERFORM idem_create_transaction(NEW.tenant_id, 'shared', NEW.amount_minor, 'EUR', operation => 'fee');
  END IF;
  RETURN NEW;
EXCEPTION WHEN SQLSTATE 'ID001' THEN
  IF NEW.idempotency_key LIKE 'caught%' THEN
    RETURN NEW;
  END IF;
  RAISE;
END $$;
SELECT outcome FROM idem_create_transaction('t', 'k1', 100, 'EUR');
SELECT outcome FROM idem_create_transaction('t', 'k2', 200, 'EUR');
SELECT outcome FROM idem_create_transaction('t', 'caught', 300, 'EUR');
SELECT outcome FROM idem_create_transaction('t', 'k3', 100, 'EUR');
SELECT operation, idempotency_key, amount_minor FROM idem_transactions ORDER BY 1, 2;
DELETE FROM idem_transactions;

-- One that renames the ledger, where the row is then read by what the table is, not by its name; and one that calls
-- afterwards: that call fails, and nothing of it stays.
SELECT outcome FROM idem_create_transaction('t', 'there', 1, 'EUR');
CREATE OR REPLACE FUNCTION regress_nested() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.tenant_id LIKE 'rename%' THEN
    ALTER TABLE idem_transactions RENAME TO regress_renamed;
  END IF;
  IF NEW.tenant_id = 'rename and call' THEN
    PERFORM idem_create_transaction('t', 'nested', 1, 'EUR');
  END IF;
  RETURN NEW;
END $$;
BEGIN;
SELECT outcome FROM idem_create_transaction('rename', 'k', 1, 'EUR');
ROLLBACK;
SELECT outcome FROM idem_create_transaction('t', 'there', 1, 'EUR');
SELECT outcome FROM idem_create_transaction('t', 'k1', 1, 'EUR');
BEGIN;
SELECT outcome FROM idem_create_transaction('rename and call', 'k', 1, 'EUR');
ROLLBACK;
SELECT outcome FROM idem_create_transaction('t', 'there', 1, 'EUR');
SELECT outcome FROM idem_create_transaction('t', 'k2', 1, 'EUR', order_ref => 'o');
DISCARD PLANS;
SELECT outcome FROM idem_create_transaction('t', 'k2', 1, 'EUR', order_ref => 'o');
-- In a session whose first call it is.
\c -
\set VERBOSITY sqlstate
\set SHOW_CONTEXT never
SET client_min_messages = warning;
BEGIN;
SELECT outcome FROM idem_create_transaction('rename', 'k', 1, 'EUR');
ROLLBACK;
SELECT outcome FROM idem_create_transaction('t', 'there', 1, 'EUR');
SELECT outcome FROM idem_create_transaction('t', 'k3', 1, 'EUR');
SELECT tenant_id, idempotency_key FROM idem_transactions ORDER BY 1, 2;

-- One that puts another table in the ledger's place, calls, and swaps back.
CREATE OR REPLACE FUNCTION regress_nested() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF pg_trigger_depth() = 1 AND NEW.tenant_id = 'swap' THEN
    ALTER TABLE idem_transactions RENAME TO regress_renamed;
    CREATE TABLE idem_transactions (LIKE regress_renamed INCLUDING ALL);
    PERFORM idem_create_transaction('inner', 'k', 1, 'EUR');
    DROP TABLE idem_transactions;
    ALTER TABLE regress_renamed RENAME TO idem_transactions;
  END IF;
  RETURN NEW;
END $$;
BEGIN;
SELECT outcome FROM idem_create_transaction('swap', 'k', 1, 'EUR', '{}', 'op', 'o1');
ROLLBACK;
SELECT outcome FROM idem_create_transaction('t', 'there', 1, 'EUR');
SELECT outcome FROM idem_create_transaction('t', 'k4', 1, 'EUR');
\c -
\set VERBOSITY default
\set SHOW_CONTEXT never
BEGIN;
SELECT outcome FROM idem_create_transaction('swap', 'k', 1, 'EUR', '{}', 'op', 'o1');
ROLLBACK;
SELECT outcome FROM idem_create_transaction('t', 'there', 1, 'EUR');
SELECT outcome FROM idem_create_transaction('t', 'k4', 1, 'EUR');
SELECT tenant_id, idempotency_key FROM idem_transactions ORDER BY 1, 2;
DROP TRIGGER regress_nested ON idem_transactions;
DROP FUNCTION regress_nested;
DELETE FROM idem_transactions;
