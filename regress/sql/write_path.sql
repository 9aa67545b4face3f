-- What keeps a call from writing to the ledger without a statement: each thing is noticed by a session that has found
-- none before, and does what it does to any insert.
\set VERBOSITY sqlstate
\set SHOW_CONTEXT never
SET client_min_messages = warning;
SET idem.direct_path = on;
SELECT * FROM idem_write_path();
SELECT * FROM idem_write_path('idem_transactions');
SELECT outcome FROM idem_create_transaction('t', 'plain', 100, 'EUR', order_ref => 'o1');
SELECT outcome FROM idem_create_transaction('t', 'plain', 100, 'EUR', order_ref => 'o1');

-- The session.
SET idem.direct_path = off;
SELECT * FROM idem_write_path();
RESET idem.direct_path;
SET idem.direct_path = on;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT * FROM idem_write_path();
SELECT outcome FROM idem_create_transaction('t', 'rr', 100, 'EUR');
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT * FROM idem_write_path();
ROLLBACK;
BEGIN READ ONLY;
SELECT * FROM idem_write_path();
ROLLBACK;
SET default_transaction_isolation = 'repeatable read';
SELECT * FROM idem_write_path();
RESET default_transaction_isolation;
-- A placeholder is no library.
SET citus.shard_count = 1;
SELECT * FROM idem_write_path();

-- The role.
CREATE ROLE regress_idem_path;
SELECT idem_grant('regress_idem_path');
SET ROLE regress_idem_path;
SELECT * FROM idem_write_path();
SELECT outcome FROM idem_create_transaction('t', 'role', 100, 'EUR');
RESET ROLE;
REVOKE SELECT ON idem_transactions FROM regress_idem_path;
SET ROLE regress_idem_path;
SELECT * FROM idem_write_path();
SELECT outcome FROM idem_create_transaction('t', 'role', 100, 'EUR');
SELECT outcome FROM idem_create_transaction('t', 'role2', 100, 'EUR');
RESET ROLE;
GRANT SELECT (tenant_id, id, operation, idempotency_key, request_hash, hash_version, amount_minor, currency, order_ref, details, created_at)
  ON idem_transactions TO regress_idem_path;
SET ROLE regress_idem_path;
SELECT * FROM idem_write_path();
SELECT outcome FROM idem_create_transaction('t', 'role', 100, 'EUR');
SELECT outcome FROM idem_create_transaction('t', 'role2', 100, 'EUR');
RESET ROLE;
REVOKE INSERT ON idem_transactions FROM regress_idem_path;
GRANT SELECT ON idem_transactions TO regress_idem_path;
SET ROLE regress_idem_path;
SELECT * FROM idem_write_path();
SELECT outcome FROM idem_create_transaction('t', 'role', 100, 'EUR');
SELECT outcome FROM idem_create_transaction('t', 'role3', 100, 'EUR');
RESET ROLE;
GRANT INSERT (tenant_id, id, operation, idempotency_key, request_hash, hash_version, amount_minor, currency, order_ref, details, created_at)
  ON idem_transactions TO regress_idem_path;
SET ROLE regress_idem_path;
SELECT * FROM idem_write_path();
SELECT outcome FROM idem_create_transaction('t', 'role3', 100, 'EUR');
RESET ROLE;
-- By membership.
REVOKE ALL ON idem_transactions FROM regress_idem_path;
GRANT pg_read_all_data, pg_write_all_data TO regress_idem_path;
SET ROLE regress_idem_path;
SELECT * FROM idem_write_path();
SELECT outcome FROM idem_create_transaction('t', 'member', 100, 'EUR');
RESET ROLE;
REVOKE pg_write_all_data FROM regress_idem_path;
SET ROLE regress_idem_path;
SELECT * FROM idem_write_path();
SELECT outcome FROM idem_create_transaction('t', 'member2', 100, 'EUR');
RESET ROLE;
REVOKE pg_read_all_data FROM regress_idem_path;
DROP OWNED BY regress_idem_path;
DROP ROLE regress_idem_path;
SELECT * FROM idem_write_path();

-- Triggers, rules, row security.
CREATE FUNCTION regress_notice() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'trigger: % %', TG_WHEN, TG_LEVEL; RETURN NEW; END $$;
\set VERBOSITY terse
CREATE TRIGGER regress BEFORE INSERT ON idem_transactions FOR EACH ROW EXECUTE FUNCTION regress_notice();
SELECT * FROM idem_write_path();
SELECT outcome FROM idem_create_transaction('t', 'trigger1', 100, 'EUR');
DROP TRIGGER regress ON idem_transactions;
SELECT * FROM idem_write_path();
CREATE TRIGGER regress AFTER INSERT ON idem_transactions FOR EACH ROW EXECUTE FUNCTION regress_notice();
SELECT * FROM idem_write_path();
SELECT outcome FROM idem_create_transaction('t', 'trigger2', 100, 'EUR');
DROP TRIGGER regress ON idem_transactions;
CREATE TRIGGER regress AFTER INSERT ON idem_transactions FOR EACH STATEMENT EXECUTE FUNCTION regress_notice();
SELECT * FROM idem_write_path();
SELECT outcome FROM idem_create_transaction('t', 'trigger3', 100, 'EUR');
DROP TRIGGER regress ON idem_transactions;
CREATE TRIGGER regress BEFORE INSERT ON idem_transactions FOR EACH STATEMENT EXECUTE FUNCTION regress_notice();
SELECT * FROM idem_write_path();
SELECT outcome FROM idem_create_transaction('t', 'trigger4', 100, 'EUR');
DROP TRIGGER regress ON idem_transactions;
CREATE TRIGGER regress AFTER INSERT ON idem_transactions REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION regress_notice();
SELECT * FROM idem_write_path();
SELECT outcome FROM idem_create_transaction('t', 'trigger5', 100, 'EUR');
DROP TRIGGER regress ON idem_transactions;
-- One that is for other commands is not in the way.
CREATE TRIGGER regress BEFORE UPDATE OR DELETE ON idem_transactions FOR EACH ROW EXECUTE FUNCTION regress_notice();
SELECT * FROM idem_write_path();
DROP TRIGGER regress ON idem_transactions;
DROP FUNCTION regress_notice;
\set VERBOSITY sqlstate
BEGIN;
CREATE RULE regress AS ON DELETE TO idem_transactions DO INSTEAD NOTHING;
SELECT * FROM idem_write_path();
ROLLBACK;
BEGIN;
CREATE RULE regress AS ON INSERT TO idem_transactions DO INSTEAD NOTHING;
SELECT * FROM idem_write_path();
ROLLBACK;
BEGIN;
ALTER TABLE idem_transactions ENABLE ROW LEVEL SECURITY;
SELECT * FROM idem_write_path();
SELECT outcome FROM idem_create_transaction('t', 'rls', 100, 'EUR');
ROLLBACK;
SELECT * FROM idem_write_path();

-- Columns.
BEGIN;
ALTER TABLE idem_transactions ADD note text DEFAULT 'noted';
SELECT * FROM idem_write_path();
SELECT outcome FROM idem_create_transaction('t', 'added', 100, 'EUR');
SELECT note FROM idem_transactions WHERE idempotency_key = 'added';
ALTER TABLE idem_transactions DROP note;
SELECT * FROM idem_write_path();
SELECT outcome FROM idem_create_transaction('t', 'added', 100, 'EUR');
ROLLBACK;
BEGIN;
ALTER TABLE idem_transactions ADD doubled bigint GENERATED ALWAYS AS (amount_minor * 2) STORED;
SELECT * FROM idem_write_path();
SELECT outcome FROM idem_create_transaction('t', 'generated', 100, 'EUR');
SELECT doubled FROM idem_transactions WHERE idempotency_key = 'generated';
ROLLBACK;
BEGIN;
ALTER TABLE idem_transactions ADD n bigint GENERATED ALWAYS AS IDENTITY;
SELECT * FROM idem_write_path();
SELECT outcome FROM idem_create_transaction('t', 'identity', 100, 'EUR');
SELECT n IS NOT NULL AS has_number FROM idem_transactions WHERE idempotency_key = 'identity';
ROLLBACK;
BEGIN;
DELETE FROM idem_transactions;
ALTER TABLE idem_transactions ALTER order_ref SET NOT NULL;
SELECT * FROM idem_write_path();
SELECT outcome FROM idem_create_transaction('t', 'with order', 100, 'EUR', order_ref => 'o');
SELECT outcome FROM idem_create_transaction('t', 'no order', 100, 'EUR');
ROLLBACK;
BEGIN;
ALTER TABLE idem_transactions ALTER created_at TYPE timestamptz(0);
SELECT * FROM idem_write_path();
SELECT outcome FROM idem_create_transaction('t', 'rounded', 100, 'EUR');
SELECT created_at = date_trunc('second', created_at) AS rounded FROM idem_transactions WHERE idempotency_key = 'rounded';
ROLLBACK;
-- A column that takes the place of another, so that the number of columns is the same.
BEGIN;
ALTER TABLE idem_transactions RENAME details TO old_details;
ALTER TABLE idem_transactions ADD details jsonb NOT NULL DEFAULT '{}', DROP old_details;
SELECT * FROM idem_write_path();
SELECT outcome FROM idem_create_transaction('t', 'replaced', 100, 'EUR', '{"a": 1}');
SELECT details FROM idem_transactions WHERE idempotency_key = 'replaced';
ROLLBACK;

-- Constraints.
CREATE TABLE regress_tenants (name text COLLATE "C" PRIMARY KEY);
BEGIN;
ALTER TABLE idem_transactions ADD FOREIGN KEY (tenant_id) REFERENCES regress_tenants NOT VALID;
SELECT * FROM idem_write_path();
SELECT outcome FROM idem_create_transaction('nobody', 'k', 100, 'EUR');
ROLLBACK;
-- One that points to the ledger is not in the way.
BEGIN;
CREATE TABLE regress_details (tenant_id text, id uuid, FOREIGN KEY (tenant_id, id) REFERENCES idem_transactions (tenant_id, id));
SELECT * FROM idem_write_path();
INSERT INTO regress_details SELECT 't', transaction_id FROM idem_create_transaction('t', 'referenced', 100, 'EUR');
ROLLBACK;
DROP TABLE regress_tenants;
BEGIN;
ALTER TABLE idem_transactions ADD CHECK (amount_minor < 1000);
SELECT * FROM idem_write_path();
SELECT outcome FROM idem_create_transaction('t', 'check', 1000, 'EUR');
ROLLBACK;
BEGIN;
DELETE FROM idem_transactions;
ALTER TABLE idem_transactions ADD EXCLUDE USING btree (amount_minor WITH =);
SELECT * FROM idem_write_path();
SELECT outcome FROM idem_create_transaction('t', 'exclude1', 1, 'EUR');
SELECT outcome FROM idem_create_transaction('t', 'exclude2', 1, 'EUR');
ROLLBACK;
BEGIN;
ALTER TABLE idem_transactions ADD UNIQUE (tenant_id, operation, idempotency_key, amount_minor) DEFERRABLE;
SELECT * FROM idem_write_path();
ROLLBACK;

-- Indexes.
BEGIN;
DELETE FROM idem_transactions;
CREATE UNIQUE INDEX ON idem_transactions (tenant_id, amount_minor);
SELECT * FROM idem_write_path();
SELECT outcome FROM idem_create_transaction('t', 'unique1', 1, 'EUR');
SELECT outcome FROM idem_create_transaction('t', 'unique2', 1, 'EUR');
ROLLBACK;
BEGIN;
CREATE UNIQUE INDEX ON idem_transactions (tenant_id) WHERE operation = 'open-account';
SELECT * FROM idem_write_path();
SELECT outcome FROM idem_create_transaction('t', 'open1', 1, 'EUR', operation => 'open-account');
SELECT outcome FROM idem_create_transaction('t', 'open2', 1, 'EUR', operation => 'open-account');
ROLLBACK;
BEGIN;
CREATE UNIQUE INDEX ON idem_transactions (idempotency_key, operation, tenant_id);
SELECT * FROM idem_write_path();
SELECT outcome FROM idem_create_transaction('t', 'second index', 1, 'EUR');
SELECT outcome FROM idem_create_transaction('t', 'second index', 1, 'EUR');
ROLLBACK;
BEGIN;
CREATE INDEX ON idem_transactions (created_at) WHERE amount_minor > 0;
SELECT * FROM idem_write_path();
ROLLBACK;
BEGIN;
CREATE INDEX ON idem_transactions (lower(order_ref));
SELECT * FROM idem_write_path();
ROLLBACK;
BEGIN;
CREATE INDEX ON idem_transactions USING hash (order_ref);
SELECT * FROM idem_write_path();
ROLLBACK;
BEGIN;
CREATE OPERATOR CLASS regress_ops FOR TYPE bigint USING btree AS
  OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 btint8cmp(bigint, bigint);
CREATE INDEX ON idem_transactions (amount_minor regress_ops);
SELECT * FROM idem_write_path();
ROLLBACK;
BEGIN;
CREATE INDEX regress_index ON idem_transactions (created_at);
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'regress_index'::regclass;
SELECT * FROM idem_write_path();
ROLLBACK;
BEGIN;
DO $$ BEGIN FOR i IN 1 .. 6 LOOP CREATE INDEX ON idem_transactions (created_at); END LOOP; END $$;
SELECT * FROM idem_write_path();
ROLLBACK;
-- Plain indexes of one's own, also unique ones that hold the id, are kept up.
BEGIN;
CREATE INDEX regress_created ON idem_transactions (created_at DESC NULLS LAST, amount_minor) INCLUDE (details);
CREATE UNIQUE INDEX regress_id ON idem_transactions (id);
SELECT * FROM idem_write_path();
SELECT outcome FROM generate_series(1, 3) k, LATERAL idem_create_transaction('indexed', 'k' || k, k, 'EUR') ORDER BY k;
SET LOCAL enable_seqscan = off;
SET LOCAL enable_sort = off;
EXPLAIN (COSTS OFF) SELECT idempotency_key FROM idem_transactions WHERE created_at = now() ORDER BY amount_minor;
SELECT idempotency_key FROM idem_transactions WHERE created_at = now() ORDER BY amount_minor;
SELECT count(*) FROM idem_transactions a WHERE tenant_id = 'indexed' AND EXISTS (SELECT FROM idem_transactions b WHERE b.id = a.id);
ROLLBACK;
-- One that refuses the row when that is half inserted leaves nothing.
BEGIN;
CREATE INDEX ON idem_transactions (details);
SELECT * FROM idem_write_path();
SAVEPOINT s;
SELECT outcome FROM idem_create_transaction('t', 'large', 1, 'EUR',
  (SELECT jsonb_object_agg(g, md5(g::text)) FROM generate_series(1, 300) g), order_ref => 'large');
ROLLBACK TO s;
SELECT outcome FROM idem_create_transaction('t', 'large', 2, 'EUR', order_ref => 'large');
SELECT outcome FROM idem_create_transaction('t', 'large', 2, 'EUR', order_ref => 'large');
SELECT count(*) FROM idem_transactions WHERE idempotency_key = 'large';
ROLLBACK;
-- An index of orders that also holds the rows without one.
BEGIN;
ALTER TABLE idem_transactions ADD CONSTRAINT regress_orders UNIQUE (order_ref, operation, tenant_id);
DO $$ BEGIN EXECUTE (SELECT format('DROP INDEX %s', indexrelid::regclass) FROM pg_index
  WHERE indrelid = 'idem_transactions'::regclass AND indpred IS NOT NULL); END $$;
SELECT * FROM idem_write_path();
SELECT outcome FROM idem_create_transaction('t', 'full1', 1, 'EUR');
SELECT outcome FROM idem_create_transaction('t', 'full2', 1, 'EUR');
SELECT outcome FROM idem_create_transaction('t', 'full3', 1, 'EUR', order_ref => 'full');
SELECT outcome FROM idem_try_create_transaction('t', 'full3', 1, 'EUR', order_ref => 'full');
SELECT outcome FROM idem_try_create_transaction('t', 'full4', 1, 'EUR', order_ref => 'full');
ROLLBACK;

-- The kind of the table.
BEGIN;
CREATE TABLE regress_child () INHERITS (idem_transactions);
SELECT * FROM idem_write_path();
SELECT outcome FROM idem_create_transaction('t', 'parent', 1, 'EUR');
SELECT count(*) FROM ONLY idem_transactions WHERE idempotency_key = 'parent';
ROLLBACK;
BEGIN;
DELETE FROM idem_transactions;
ALTER TABLE idem_transactions SET UNLOGGED;
SELECT * FROM idem_write_path();
SELECT outcome FROM idem_create_transaction('t', 'unlogged', 1, 'EUR');
ROLLBACK;
CREATE ACCESS METHOD regress_heap TYPE TABLE HANDLER heap_tableam_handler;
BEGIN;
ALTER TABLE idem_transactions SET ACCESS METHOD regress_heap;
SELECT * FROM idem_write_path();
SELECT outcome FROM idem_create_transaction('t', 'other heap', 1, 'EUR');
ROLLBACK;
DROP ACCESS METHOD regress_heap;
BEGIN;
ALTER TABLE idem_transactions RENAME TO regress_plain;
CREATE TABLE idem_transactions (LIKE regress_plain, PRIMARY KEY (tenant_id, id), UNIQUE (tenant_id, operation, idempotency_key),
  UNIQUE (tenant_id, operation, order_ref)) PARTITION BY LIST (tenant_id);
CREATE TABLE regress_part PARTITION OF idem_transactions DEFAULT;
SELECT * FROM idem_write_path();
SELECT outcome FROM idem_create_transaction('t', 'partitioned', 1, 'EUR');
SELECT tableoid::regclass FROM idem_transactions;
DROP TABLE idem_transactions;
ALTER TABLE regress_plain RENAME TO idem_transactions;
SELECT * FROM idem_write_path();
ROLLBACK;
BEGIN;
CREATE TABLE regress_whole (LIKE idem_transactions) PARTITION BY LIST (tenant_id);
ALTER TABLE regress_whole ATTACH PARTITION idem_transactions FOR VALUES IN ('t');
SELECT * FROM idem_write_path();
SELECT outcome FROM idem_create_transaction('t', 'leaf', 1, 'EUR');
SAVEPOINT s;
SELECT outcome FROM idem_create_transaction('u', 'leaf', 1, 'EUR');
ROLLBACK TO s;
ALTER TABLE regress_whole DETACH PARTITION idem_transactions;
SELECT * FROM idem_write_path();
ROLLBACK;

-- Other tables.
CREATE TABLE regress_attached (tenant_id text NOT NULL, operation text NOT NULL, idempotency_key text NOT NULL, request_hash bytea,
  id int, UNIQUE (tenant_id, operation, idempotency_key));
SELECT idem_write_path('regress_attached');
SELECT idem_attach('regress_attached');
SELECT * FROM idem_write_path('regress_attached');
DROP TABLE regress_attached;
SELECT idem_write_path(0);
SELECT * FROM idem_write_path(NULL);
SELECT idem_write_path('pg_class');
BEGIN;
DROP TABLE idem_transactions;
SELECT idem_write_path();
ROLLBACK;
SELECT * FROM idem_write_path();
SELECT idempotency_key FROM idem_transactions ORDER BY 1;
DELETE FROM idem_transactions;
