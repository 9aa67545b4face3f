-- Batches on ledgers with all that users add: policies, privileges, triggers, further keys, partitions, odd names.
\set VERBOSITY sqlstate
\set SHOW_CONTEXT never
SET client_min_messages = warning;
TRUNCATE idem_transactions;
DROP ROLE IF EXISTS regress_idem_app, regress_idem_reader;
CREATE ROLE regress_idem_app;
CREATE ROLE regress_idem_reader;
SELECT idem_grant('regress_idem_app');
GRANT SELECT ON idem_transactions TO regress_idem_reader;
SELECT count(*) FROM idem_create_transactions('{t1,t2}', '{k1,k1}', '{1,2}', '{EUR}', order_refs => '{o1,o1}');

-- Privileges: what idem_grant gives is enough; who may only read is refused, also where all would be replays.
SET ROLE regress_idem_app;
SELECT ord, outcome FROM idem_create_transactions('{t1}', '{k1,k2}', '{1}', '{EUR}', order_refs => '{o1,NULL}');
SET ROLE regress_idem_reader;
SELECT * FROM idem_create_transactions('{t1}', '{k1}', '{1}', '{EUR}', order_refs => '{o1}');
SELECT * FROM idem_create_transactions('{t1}', '{k1,k9}', '{1}', '{EUR}', order_refs => '{o1}');
RESET ROLE;
-- Where nobody else may call the functions, idem_grant is enough, too.
BEGIN;
REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA public FROM PUBLIC;
SET ROLE regress_idem_app;
SELECT ord, outcome FROM idem_create_transactions('{t1}', '{k1,k3}', '{1}', '{EUR}', order_refs => '{o1,NULL}');
ROLLBACK;

-- Row security: rows of another tenant are neither shown nor made.
ALTER TABLE idem_transactions ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON idem_transactions USING (tenant_id = current_setting('app.tenant'));
SET ROLE regress_idem_app;
SET app.tenant = 't2';
SELECT ord, outcome FROM idem_create_transactions('{t2}', '{k1,k2,k1,k3}', '{2,2,3,2}', '{EUR}', order_refs => '{o1,NULL,NULL,o1}');
SELECT * FROM idem_create_transactions('{t2,t1}', '{k4,k1}', '{2,1}', '{EUR}');
SELECT * FROM idem_create_transactions('{t2,t1}', '{k4,new}', '{2,1}', '{EUR}');
SELECT tenant_id, idempotency_key FROM idem_transactions ORDER BY 1, 2;
RESET ROLE;
-- A winner that is hidden, and a new row that its maker may not see.
DROP POLICY tenant ON idem_transactions;
CREATE POLICY make ON idem_transactions FOR INSERT WITH CHECK (true);
CREATE POLICY see ON idem_transactions FOR SELECT USING (amount_minor < 100);
SELECT outcome FROM idem_create_transaction('t1', 'hidden', 100, 'EUR', order_ref => 'hidden');
SET ROLE regress_idem_app;
SELECT ord, outcome FROM idem_create_transactions('{t1}', '{k1,k5}', '{1}', '{EUR}', order_refs => '{o1,NULL}');
SELECT * FROM idem_create_transactions('{t1}', '{k6,hidden}', '{1}', '{EUR}');
SELECT * FROM idem_create_transactions('{t1}', '{k6,k7}', '{1}', '{EUR}', order_refs => '{NULL,hidden}');
SELECT * FROM idem_create_transactions('{t1}', '{k6,k7}', '{1,100}', '{EUR}');
RESET ROLE;
DROP POLICY make ON idem_transactions;
DROP POLICY see ON idem_transactions;
ALTER TABLE idem_transactions DISABLE ROW LEVEL SECURITY;
DELETE FROM idem_transactions;

-- Triggers run once for each row that is made, in the order of scopes, and not for what stands already.
CREATE TABLE regress_seen (n int GENERATED ALWAYS AS IDENTITY, what text);
CREATE FUNCTION regress_note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO regress_seen (what) VALUES (TG_WHEN || ' ' || TG_LEVEL || CASE TG_LEVEL WHEN 'ROW' THEN ' ' || NEW.idempotency_key ELSE '' END);
  RETURN NEW;
END $$;
CREATE TRIGGER a BEFORE INSERT ON idem_transactions FOR EACH ROW EXECUTE FUNCTION regress_note();
CREATE TRIGGER b AFTER INSERT ON idem_transactions FOR EACH ROW EXECUTE FUNCTION regress_note();
CREATE TRIGGER c AFTER INSERT ON idem_transactions FOR EACH STATEMENT EXECUTE FUNCTION regress_note();
SELECT ord, outcome FROM idem_create_transactions('{t}', '{c,a,b,a}', '{1}', '{EUR}');
SELECT what FROM regress_seen ORDER BY n;
TRUNCATE regress_seen;
SELECT ord, outcome FROM idem_create_transactions('{t}', '{c,a,b,a}', '{1,1,2,1}', '{EUR}');
SELECT what FROM regress_seen ORDER BY n;
SELECT ord, outcome FROM idem_create_transactions('{t}', '{c,d}', '{1}', '{EUR}');
SELECT what FROM regress_seen ORDER BY n;
DROP TRIGGER a ON idem_transactions;
DROP TRIGGER b ON idem_transactions;
DROP TRIGGER c ON idem_transactions;
DROP FUNCTION regress_note;
DROP TABLE regress_seen;
DELETE FROM idem_transactions;

-- A trigger that suppresses or changes a row, or changes what is shown of it.
CREATE FUNCTION regress_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  CASE
    WHEN NEW.idempotency_key = 'gone' THEN RETURN NULL;
    WHEN NEW.idempotency_key = 'key' THEN NEW.idempotency_key := 'other';
    WHEN NEW.idempotency_key = 'id' THEN NEW.id := gen_random_uuid();
    WHEN NEW.idempotency_key = 'time' THEN NEW.created_at := '2001-01-01 00:00+00';
    ELSE NULL;
  END CASE;
  RETURN NEW;
END $$;
CREATE TRIGGER regress_change BEFORE INSERT ON idem_transactions FOR EACH ROW EXECUTE FUNCTION regress_change();
SELECT * FROM idem_create_transactions('{t}', '{a,gone}', '{1}', '{EUR}');
SELECT * FROM idem_create_transactions('{t}', '{a,key}', '{1}', '{EUR}');
SELECT * FROM idem_create_transactions('{t}', '{a,id,z}', '{1}', '{EUR}');
SELECT ord, outcome, created_at = now() AS now FROM idem_create_transactions('{t}', '{a,time,z,time}', '{1}', '{EUR}');
SELECT ord, outcome, extract(year FROM created_at AT TIME ZONE 'UTC') AS year FROM idem_create_transactions('{t}', '{time,time}', '{1,2}', '{EUR}');
SELECT idempotency_key FROM idem_transactions ORDER BY 1;
DROP TRIGGER regress_change ON idem_transactions;
DROP FUNCTION regress_change;
DELETE FROM idem_transactions;

-- Batches in the triggers of a batch, and single calls.
CREATE FUNCTION regress_nested() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.operation = 'create-transaction' THEN
    PERFORM idem_create_transactions(ARRAY[NEW.tenant_id], ARRAY[NEW.idempotency_key, 'shared'], '{1}', '{EUR}', operations => '{fee}', mode => 'all');
    PERFORM idem_create_transaction(NEW.tenant_id, NEW.idempotency_key, 1, 'EUR', operation => 'tax');
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER regress_nested BEFORE INSERT ON idem_transactions FOR EACH ROW EXECUTE FUNCTION regress_nested();
SELECT ord, outcome FROM idem_create_transactions('{t}', '{b,a}', '{9}', '{EUR}');
SELECT ord, outcome FROM idem_create_transactions('{t}', '{b,a,c}', '{9}', '{EUR}');
SELECT operation, string_agg(idempotency_key, ' ' ORDER BY idempotency_key) FROM idem_transactions GROUP BY 1 ORDER BY 1;
DROP TRIGGER regress_nested ON idem_transactions;
CREATE TRIGGER regress_nested BEFORE INSERT ON idem_transactions FOR EACH STATEMENT EXECUTE FUNCTION regress_nested();
CREATE OR REPLACE FUNCTION regress_nested() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF pg_trigger_depth() = 1 THEN
    PERFORM idem_create_transactions('{t}', '{inner1,inner2}', '{1}', '{EUR}');
  END IF;
  RETURN NULL;
END $$;
SELECT ord, outcome FROM idem_create_transactions('{t}', '{d,e,f}', '{9}', '{EUR}');
SELECT string_agg(idempotency_key, ' ' ORDER BY idempotency_key) FROM idem_transactions WHERE operation = 'create-transaction';
DROP TRIGGER regress_nested ON idem_transactions;
DROP FUNCTION regress_nested;
DELETE FROM idem_transactions;

-- A further unique key: a clash with a row of another request ends the whole call, and names the constraint.
ALTER TABLE idem_transactions ADD CONSTRAINT regress_currency UNIQUE (tenant_id, currency);
SELECT ord, outcome FROM idem_create_transactions('{t}', '{a,b}', '{1}', '{EUR,USD}');
SELECT ord, outcome FROM idem_create_transactions('{t}', '{a,b,a}', '{1,1,2}', '{EUR,USD,EUR}');
\set VERBOSITY terse
SELECT * FROM idem_create_transactions('{t}', '{c,d}', '{1}', '{JPY,EUR}');
SELECT * FROM idem_create_transactions('{t}', '{c,d}', '{1}', '{JPY,JPY}');
\set VERBOSITY sqlstate
SELECT count(*) FROM idem_transactions;
ALTER TABLE idem_transactions DROP CONSTRAINT regress_currency;
DELETE FROM idem_transactions;
-- A check constraint that a stored row does not satisfy any more, and one that a new row violates.
SELECT count(*) FROM idem_create_transactions('{t}', '{a}', '{1}', '{EUR}');
ALTER TABLE idem_transactions ADD CONSTRAINT regress_check CHECK (amount_minor > 5) NOT VALID;
SELECT ord, outcome FROM idem_create_transactions('{t}', '{a,b}', '{1,9}', '{EUR}');
SELECT * FROM idem_create_transactions('{t}', '{c,d}', '{9,1}', '{EUR}');
ALTER TABLE idem_transactions DROP CONSTRAINT regress_check;
DELETE FROM idem_transactions;

-- Partitions.
BEGIN;
DROP EXTENSION idem;
ALTER TABLE idem_transactions RENAME TO regress_plain;
CREATE TABLE idem_transactions (LIKE regress_plain INCLUDING DEFAULTS,
  PRIMARY KEY (tenant_id, id), UNIQUE (tenant_id, operation, idempotency_key)) PARTITION BY LIST (tenant_id);
CREATE UNIQUE INDEX ON idem_transactions (tenant_id, operation, order_ref);
CREATE TABLE regress_1 PARTITION OF idem_transactions FOR VALUES IN ('t1');
CREATE TABLE regress_2 PARTITION OF idem_transactions FOR VALUES IN ('t2');
CREATE EXTENSION idem;
SELECT ord, outcome FROM idem_create_transactions('{t2,t1,t2,t1}', '{a,b,c,a}', '{1}', '{EUR}', order_refs => '{o,o,o,NULL}');
SELECT ord, outcome FROM idem_create_transactions('{t2,t1,t2,t1}', '{a,b,c,d}', '{1,2,1,1}', '{EUR}', order_refs => '{o,o,NULL,NULL}');
SELECT tableoid::regclass, idempotency_key, order_ref FROM idem_transactions ORDER BY 1, 2;
SELECT * FROM idem_create_transactions('{t2,t3}', '{x,y}', '{1}', '{EUR}');
ROLLBACK;

-- A schema of any name, renamed between two batches.
BEGIN;
DROP EXTENSION idem;
CREATE SCHEMA "x'y z";
CREATE EXTENSION idem SCHEMA "x'y z";
SELECT ord, outcome FROM "x'y z".idem_create_transactions('{t}', '{a,b}', '{1}', '{EUR}', order_refs => '{o,NULL}');
ALTER SCHEMA "x'y z" RENAME TO "A$";
SELECT ord, outcome FROM "A$".idem_create_transactions('{t}', '{a,b,c}', '{1}', '{EUR}', order_refs => '{o,NULL,o}');
SET LOCAL search_path = '';
SELECT ord, outcome FROM "A$".idem_create_transactions('{t}', '{a,b,c,d}', '{1}', '{EUR}', order_refs => '{o,NULL,o,NULL}');
ROLLBACK;
SELECT ord, outcome FROM idem_create_transactions('{t}', '{a,b}', '{1}', '{EUR}');
DELETE FROM idem_transactions;

-- Rows are found by the index, however small the ledger is and whatever the session sets.
SELECT count(*) FROM idem_create_transactions('{t}', (SELECT array_agg('k' || g) FROM generate_series(1, 5) g), '{1}', '{EUR}',
  order_refs => (SELECT array_agg('o' || g) FROM generate_series(1, 5) g));
VACUUM ANALYZE idem_transactions;
DISCARD PLANS;
SET enable_nestloop = off;
SET enable_indexscan = off;
BEGIN;
SELECT seq_scan AS before FROM pg_stat_xact_user_tables WHERE relname = 'idem_transactions' \gset
SELECT ord, outcome FROM idem_create_transactions('{t}', '{k1,k2,new}', '{1}', '{EUR}', order_refs => '{o1,o2,o3}');
SELECT ord, outcome FROM idem_create_transactions('{t}', '{k1,k2,new}', '{1}', '{EUR}', order_refs => '{o1,o2,o3}');
SELECT seq_scan - :before AS seq_scan, idx_scan > 0 AS indexed FROM pg_stat_xact_user_tables WHERE relname = 'idem_transactions';
COMMIT;
SHOW enable_nestloop;
SHOW enable_seqscan;
RESET enable_nestloop;
RESET enable_indexscan;

-- What a batch reads depends on what it asks for, whatever was known of the ledger when the session's first one came:
-- that it is empty, or that tenants have a row each.
CREATE FUNCTION pg_temp.rows_read() RETURNS bigint LANGUAGE sql AS
  $$SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relname = 'idem_transactions'$$;
CREATE FUNCTION pg_temp.batch(first int, last int, key text) RETURNS TABLE (outcome text, count bigint) LANGUAGE sql AS
  $$SELECT outcome::text, count(*) FROM public.idem_create_transactions('{t}', ARRAY(SELECT key || g FROM generate_series(first, last) g),
  '{1}', '{EUR}', order_refs => ARRAY(SELECT 'o' || g FROM generate_series(first, last) g)) GROUP BY outcome$$;
DISCARD PLANS;
TRUNCATE idem_transactions;
VACUUM ANALYZE idem_transactions;
SELECT * FROM pg_temp.batch(1, 20, 'k');
SELECT * FROM pg_temp.batch(1, 20, 'k');
SELECT * FROM pg_temp.batch(1, 20, 'other');
SELECT * FROM pg_temp.batch(21, 3000, 'k');
BEGIN;
SELECT pg_temp.rows_read() AS before \gset
SELECT * FROM pg_temp.batch(1, 100, 'k');
SELECT * FROM pg_temp.batch(1, 100, 'other');
SELECT pg_temp.rows_read() - :before <= 300 AS few;
COMMIT;
TRUNCATE idem_transactions;
SELECT outcome, count(*) FROM idem_create_transactions(ARRAY(SELECT 'tenant' || g FROM generate_series(1, 3000) g), ARRAY(SELECT 'k' FROM generate_series(1, 3000)), '{1}', '{EUR}')
GROUP BY outcome;
VACUUM ANALYZE idem_transactions;
SELECT * FROM pg_temp.batch(1, 3000, 'k');
BEGIN;
SELECT pg_temp.rows_read() AS before \gset
SELECT * FROM pg_temp.batch(1, 100, 'k');
SELECT * FROM pg_temp.batch(1, 100, 'other');
SELECT pg_temp.rows_read() - :before <= 300 AS few;
COMMIT;
-- Also where a statement reads.
ALTER TABLE idem_transactions ENABLE ROW LEVEL SECURITY;
DISCARD PLANS;
TRUNCATE idem_transactions;
VACUUM ANALYZE idem_transactions;
SELECT * FROM pg_temp.batch(1, 20, 'k');
SELECT * FROM pg_temp.batch(1, 20, 'k');
SELECT * FROM pg_temp.batch(1, 20, 'other');
SELECT * FROM pg_temp.batch(21, 3000, 'k');
BEGIN;
SELECT pg_temp.rows_read() AS before \gset
SELECT * FROM pg_temp.batch(1, 100, 'k');
SELECT * FROM pg_temp.batch(1, 100, 'other');
SELECT pg_temp.rows_read() - :before <= 300 AS few;
COMMIT;
ALTER TABLE idem_transactions DISABLE ROW LEVEL SECURITY;

DELETE FROM idem_transactions;
REVOKE ALL ON idem_transactions FROM regress_idem_reader;
DROP OWNED BY regress_idem_app;
DROP ROLE regress_idem_app, regress_idem_reader;
