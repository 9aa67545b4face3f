-- What an audit says about the ledger, its roles, the server's settings and the registry.
SET client_min_messages = warning;
-- fsync is a matter of the server that runs the tests.
CREATE TEMP VIEW found AS SELECT severity, code, object, finding FROM idem_audit() WHERE code <> 'fsync_off';
-- All is well. Rows are read, the ledger's order among the findings is that of their severity.
SELECT outcome FROM idem_create_transaction('t', 'k1', 1, 'EUR', order_ref => 'o1');
SELECT outcome FROM idem_create_transaction('t', 'k2', 2, 'EUR');
SELECT * FROM found;
-- It reads only, and needs no more than to read.
BEGIN READ ONLY;
SELECT * FROM found;
SELECT mode FROM pg_locks WHERE relation = 'idem_transactions'::regclass AND pid = pg_backend_pid();
COMMIT;

-- Damaged unique indexes: duplicates are found although they cannot be there.
UPDATE pg_index SET indislive = false, indisready = false
WHERE indexrelid IN ('idem_transactions_scope_key'::regclass, 'idem_transactions_order_key'::regclass);
INSERT INTO idem_transactions SELECT tenant_id, '00000000-0000-7000-8000-000000000001', operation, idempotency_key, request_hash,
  hash_version, 5, currency, order_ref, details, created_at FROM idem_transactions WHERE idempotency_key = 'k1';
UPDATE pg_index SET indislive = true, indisready = true
WHERE indexrelid IN ('idem_transactions_scope_key'::regclass, 'idem_transactions_order_key'::regclass);
SELECT severity, code, regexp_replace(finding, 'ids.*', 'ids') FROM found;
DELETE FROM idem_transactions WHERE id = '00000000-0000-7000-8000-000000000001';

-- Fingerprints that no call can have written; the same content under two keys.
BEGIN;
UPDATE idem_transactions SET hash_version = 9 WHERE idempotency_key = 'k1';
UPDATE idem_transactions SET request_hash = '\x00' WHERE idempotency_key = 'k2';
SELECT severity, code, finding FROM found;
ROLLBACK;
BEGIN;
SELECT outcome FROM idem_create_transaction('t', 'k3', 2, 'EUR');
SELECT outcome FROM idem_create_transaction('t2', 'k2', 2, 'EUR');
SELECT severity, code, regexp_replace(finding, 'ids.*', 'ids') FROM found;
ROLLBACK;

-- The shape of the table.
BEGIN;
ALTER TABLE idem_transactions ALTER currency TYPE varchar, ALTER operation DROP NOT NULL, ALTER order_ref TYPE text COLLATE "POSIX",
  DROP COLUMN created_at, DROP CONSTRAINT idem_transactions_scope_key;
DROP INDEX idem_transactions_order_key;
SELECT * FROM found;
ROLLBACK;
BEGIN;
DROP INDEX idem_transactions_order_key;
CREATE UNIQUE INDEX ON idem_transactions (order_ref, tenant_id, operation);
SELECT * FROM found;
ROLLBACK;
BEGIN;
ALTER TABLE idem_transactions RENAME TO elsewhere;
SELECT * FROM found;
ROLLBACK;
BEGIN;
ALTER TABLE idem_transactions SET UNLOGGED;
SELECT severity, code, object FROM found;
ROLLBACK;

-- Roles that may change the ledger, however they came by it; neither its owner nor superusers.
DROP ROLE IF EXISTS regress_idem_app, regress_idem_changer, regress_idem_column, regress_idem_member, "Regress idem ""late", regress_idem_all,
  regress_idem_owner, regress_idem_super;
CREATE ROLE regress_idem_app LOGIN;
CREATE ROLE regress_idem_changer;
CREATE ROLE regress_idem_column;
CREATE ROLE regress_idem_member NOINHERIT IN ROLE regress_idem_changer;
CREATE ROLE "Regress idem ""late" IN ROLE regress_idem_member;
CREATE ROLE regress_idem_all IN ROLE pg_write_all_data;
CREATE ROLE regress_idem_owner;
CREATE ROLE regress_idem_super SUPERUSER;
SELECT idem_grant('regress_idem_app');
GRANT DELETE, TRUNCATE ON idem_transactions TO regress_idem_changer;
GRANT UPDATE (details) ON idem_transactions TO regress_idem_column;
SELECT severity, code, object, finding, hint FROM idem_audit() WHERE code = 'may_change_ledger';
BEGIN;
GRANT UPDATE ON idem_transactions TO PUBLIC;
SELECT * FROM found WHERE severity = 'error';
ROLLBACK;
BEGIN;
REVOKE ALL ON idem_transactions FROM regress_idem_changer, regress_idem_column;
ALTER TABLE idem_transactions OWNER TO regress_idem_owner;
REVOKE ALL ON idem_transactions FROM regress_idem_owner;
GRANT regress_idem_owner TO regress_idem_app;
REVOKE pg_write_all_data FROM regress_idem_all;
SELECT * FROM found;
ROLLBACK;
-- Partitions have privileges of their own.
BEGIN;
REVOKE ALL ON idem_transactions FROM regress_idem_changer, regress_idem_column;
REVOKE pg_write_all_data FROM regress_idem_all;
ALTER TABLE idem_transactions RENAME TO regress_before;
CREATE TABLE idem_transactions (LIKE regress_before INCLUDING DEFAULTS, PRIMARY KEY (tenant_id, id), UNIQUE (tenant_id, operation, idempotency_key))
  PARTITION BY HASH (tenant_id);
CREATE UNIQUE INDEX ON idem_transactions (tenant_id, operation, order_ref) WHERE order_ref IS NOT NULL;
CREATE TABLE regress_part PARTITION OF idem_transactions FOR VALUES WITH (MODULUS 1, REMAINDER 0);
GRANT DELETE ON regress_part TO regress_idem_app;
INSERT INTO idem_transactions SELECT * FROM regress_before;
SELECT * FROM found;
ROLLBACK;

-- Row security hides rows from an audit, which says so.
BEGIN;
REVOKE ALL ON idem_transactions FROM regress_idem_changer, regress_idem_column;
REVOKE pg_write_all_data FROM regress_idem_all;
ALTER TABLE idem_transactions ENABLE ROW LEVEL SECURITY;
SELECT * FROM found;
GRANT EXECUTE ON FUNCTION idem_audit TO regress_idem_app;
SET LOCAL ROLE regress_idem_app;
SELECT severity, code, object, finding FROM idem_audit() WHERE code <> 'fsync_off';
ROLLBACK;
DROP ROLE "Regress idem ""late", regress_idem_member, regress_idem_all, regress_idem_owner, regress_idem_super;
DROP OWNED BY regress_idem_changer, regress_idem_column;
DROP ROLE regress_idem_changer, regress_idem_column;

-- Commits that are not waited for: of a role, a database, a role in a database; the closer setting wins. Roles that
-- cannot write or log in do not matter.
CREATE ROLE regress_idem_reader LOGIN;
ALTER ROLE regress_idem_reader SET synchronous_commit = off;
SELECT * FROM found;
ALTER ROLE regress_idem_app SET synchronous_commit = False;
SELECT * FROM found;
ALTER ROLE regress_idem_app SET synchronous_commit = local;
SELECT * FROM found;
ALTER DATABASE :"DBNAME" SET synchronous_commit = off;
SELECT code, replace(object, current_database(), 'DBNAME') AS object FROM found;
ALTER DATABASE :"DBNAME" RESET synchronous_commit;
ALTER ROLE regress_idem_app IN DATABASE :"DBNAME" SET synchronous_commit = off;
SELECT code, replace(object, current_database(), 'DBNAME') AS object FROM found;
SELECT replace(hint, current_database(), 'DBNAME') AS hint FROM idem_audit() WHERE code LIKE 'synchronous%';
ALTER ROLE regress_idem_app IN DATABASE :"DBNAME" SET synchronous_commit = on;
ALTER ROLE regress_idem_app SET synchronous_commit = off;
SELECT * FROM found;
DROP OWNED BY regress_idem_app;
DROP ROLE regress_idem_app, regress_idem_reader;

-- Versions apart.
BEGIN;
UPDATE pg_extension SET extversion = 'x' WHERE extname = 'idem';
SELECT severity, code, object, regexp_replace(finding, 'is \S+,', 'is VERSION,') FROM found;
ROLLBACK;

-- The registry: event triggers that do not run, and rows that lead nowhere.
CREATE TABLE regress_pay (tenant_id text NOT NULL, idempotency_key text NOT NULL, request_hash bytea, created_at timestamptz,
  UNIQUE (tenant_id, idempotency_key));
SELECT idem_attach('regress_pay', operation_column => NULL, id_column => NULL, fixed_operation => 'pay');
SELECT * FROM found;
ALTER EVENT TRIGGER idem_follow_renames DISABLE;
ALTER EVENT TRIGGER idem_follow_drops ENABLE REPLICA;
ALTER TABLE regress_pay RENAME TO regress_paid;
ALTER TABLE regress_paid DROP COLUMN request_hash;
SELECT * FROM found;
DROP TABLE regress_paid;
SELECT severity, code, object, finding, regexp_replace(hint, '\d+', 'OID') AS hint FROM idem_audit() WHERE code LIKE 'registry%';
ALTER EVENT TRIGGER idem_follow_renames ENABLE ALWAYS;
ALTER EVENT TRIGGER idem_follow_drops ENABLE ALWAYS;
DELETE FROM idem_tables;
SELECT * FROM found;
DELETE FROM idem_transactions;
DROP VIEW found;
