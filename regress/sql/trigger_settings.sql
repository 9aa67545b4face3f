-- What a trigger on the ledger sets stays set as it would after any INSERT, and for as long.
\set VERBOSITY sqlstate
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE FUNCTION regress_setting() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config(name, NEW.details->>'value', NEW.operation = 'local')
  FROM unnest(ARRAY['enable_seqscan', 'enable_sort']) name;
  IF NEW.idempotency_key = 'fails' THEN
    RAISE 'no' USING ERRCODE = 'ZZ999';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER regress_setting AFTER INSERT ON idem_transactions FOR EACH ROW EXECUTE FUNCTION regress_setting();
CREATE VIEW pg_temp.setting AS SELECT name, setting FROM pg_settings WHERE name IN ('enable_seqscan', 'enable_sort') ORDER BY name;

-- For the transaction.
BEGIN;
SELECT outcome FROM idem_create_transaction('t', 'k1', 1, 'EUR', '{"value": "off"}', 'local');
SELECT * FROM pg_temp.setting;
SELECT outcome FROM idem_create_transaction('t', 'k1', 1, 'EUR', '{"value": "off"}', 'local');
SELECT * FROM pg_temp.setting;
COMMIT;
SELECT * FROM pg_temp.setting;
SELECT outcome FROM idem_create_transaction('t', 'k2', 1, 'EUR', '{"value": "on"}', 'local');
SELECT * FROM pg_temp.setting;

-- For the session.
\connect -
\set VERBOSITY sqlstate
\set SHOW_CONTEXT never
CREATE VIEW pg_temp.setting AS SELECT name, setting FROM pg_settings WHERE name IN ('enable_seqscan', 'enable_sort') ORDER BY name;
SELECT outcome FROM idem_create_transaction('t', 'k3', 1, 'EUR', '{"value": "off"}', 'session');
SELECT * FROM pg_temp.setting;
SELECT outcome FROM idem_create_transaction('t', 'k4', 1, 'EUR', '{"value": "on"}', 'session');
SELECT * FROM pg_temp.setting;

-- Not at all where the call fails.
\connect -
\set VERBOSITY sqlstate
\set SHOW_CONTEXT never
CREATE VIEW pg_temp.setting AS SELECT name, setting FROM pg_settings WHERE name IN ('enable_seqscan', 'enable_sort') ORDER BY name;
SELECT idem_create_transaction('t', 'fails', 1, 'EUR', '{"value": "off"}', 'session');
SELECT * FROM pg_temp.setting;
SELECT idem_create_transaction('t', 'fails', 1, 'EUR', '{"value": "on"}', 'local');
SELECT * FROM pg_temp.setting;
DROP TRIGGER regress_setting ON idem_transactions;
DROP FUNCTION regress_setting;
DELETE FROM idem_transactions;
