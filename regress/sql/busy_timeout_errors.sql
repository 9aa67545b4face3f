-- idem.busy_timeout translates no error of others: lock_not_available from a trigger is not ID002.
\set VERBOSITY sqlstate
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE FUNCTION regress_busy() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE 'out of stock' USING ERRCODE = NEW.details->>'state';
END $$;
CREATE TRIGGER regress_busy AFTER INSERT ON idem_transactions FOR EACH ROW EXECUTE FUNCTION regress_busy();
SELECT idem_create_transaction('t', 'k', 1, 'EUR', '{"state": "55P03"}');
SET idem.busy_timeout = 0;
SELECT idem_create_transaction('t', 'k', 1, 'EUR', '{"state": "55P03"}');
SELECT idem_try_create_transaction('t', 'k', 1, 'EUR', '{"state": "55P03"}', order_ref => 'o');
SELECT idem_create_transaction('t', 'k', 1, 'EUR', '{"state": "57014"}');
SET idem.busy_timeout = '100s';
SELECT idem_create_transaction('t', 'k', 1, 'EUR', '{"state": "55P03"}');
SELECT idem_create_transaction('t', 'k', 1, 'EUR', '{"state": "57014"}');
\set VERBOSITY default
SELECT idem_create_transaction('t', 'k', 1, 'EUR', '{"state": "55P03"}');
\set VERBOSITY sqlstate

-- Time that a trigger spends without waiting for a twin does not count either.
CREATE OR REPLACE FUNCTION regress_busy() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_sleep(0.1);
  RETURN NULL;
END $$;
SET idem.busy_timeout = 0;
SELECT outcome FROM idem_create_transaction('t', 'k', 1, 'EUR');
SELECT outcome FROM idem_create_transaction('t', 'k2', 1, 'EUR', order_ref => 'o');
SELECT pg_sleep(0.1);
SELECT outcome FROM idem_create_transaction('t', 'k2', 1, 'EUR', order_ref => 'o');
SHOW lock_timeout;
RESET idem.busy_timeout;
DROP TRIGGER regress_busy ON idem_transactions;
DROP FUNCTION regress_busy;
SELECT idempotency_key FROM idem_transactions ORDER BY 1;
DELETE FROM idem_transactions;
