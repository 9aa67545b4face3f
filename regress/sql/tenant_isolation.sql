-- Tenant isolation: a role sees and makes rows of the tenant in idem.tenant_id, and learns nothing of others.
\set VERBOSITY sqlstate
\set SHOW_CONTEXT never
SET client_min_messages = warning;
DROP ROLE IF EXISTS regress_idem_app, regress_idem_owner, regress_idem_bypass;
CREATE ROLE regress_idem_app;
SELECT idem_grant('regress_idem_app');
SELECT outcome FROM idem_create_transaction('t1', 'k1', 424242, 'EUR', '{"secret": 1}', order_ref => 'o1');
SELECT outcome FROM idem_create_transaction('t2', 'k1', 2, 'EUR', order_ref => 'o1');
CREATE VIEW wall AS
  SELECT p.polname, p.polpermissive, p.polcmd, p.polroles, pg_get_expr(p.polqual, p.polrelid) AS condition, p.polwithcheck IS NULL AS same_check
  FROM pg_policy p WHERE p.polrelid = 'idem_transactions'::regclass;
CREATE VIEW switches AS
  SELECT relrowsecurity, relforcerowsecurity FROM pg_class WHERE oid = 'idem_transactions'::regclass;

-- What it sets up; a second call writes nothing.
SELECT idem_enable_tenant_isolation();
SELECT * FROM wall ORDER BY polname;
SELECT * FROM switches;
CREATE TEMP TABLE before AS
  SELECT oid, xmin::text AS version FROM pg_policy
  UNION ALL SELECT oid, xmin::text FROM pg_class WHERE oid = 'idem_transactions'::regclass;
SELECT idem_enable_tenant_isolation(), idem_enable_tenant_isolation('idem_transactions');
SELECT count(*) AS looked_at, count(*) FILTER (
  WHERE NOT EXISTS (SELECT FROM pg_policy p WHERE p.oid = b.oid AND p.xmin::text = b.version)
    AND NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = b.oid AND c.xmin::text = b.version)) AS written FROM before b;
DROP TABLE before;

-- Without a tenant nothing is to be seen or made, also where the library is not loaded and the setting not known.
\c -
\set VERBOSITY sqlstate
\set SHOW_CONTEXT never
SET ROLE regress_idem_app;
SELECT coalesce(current_setting('idem.tenant_id', true), '') = '' AS empty, count(*) FROM idem_transactions;
SELECT idem_create_transaction('t1', 'k1', 424242, 'EUR', '{"secret": 1}', order_ref => 'o1');
SHOW idem.tenant_id;
SELECT count(*) FROM idem_transactions;
SELECT idem_create_transaction('t1', 'new', 1, 'EUR');
SET idem.tenant_id = '';
SELECT count(*) FROM idem_transactions;
SELECT idem_create_transaction('', 'new', 1, 'EUR');
INSERT INTO idem_transactions (tenant_id, id, operation, idempotency_key, request_hash, hash_version, amount_minor, currency)
VALUES ('', gen_random_uuid(), 'o', 'k', '\x00', 1, 1, 'EUR');
-- A setting made before the library is loaded counts, before and after.
\c -
\set VERBOSITY sqlstate
\set SHOW_CONTEXT never
SET ROLE regress_idem_app;
BEGIN;
SET LOCAL idem.tenant_id = 't2';
SELECT tenant_id FROM idem_transactions;
SELECT outcome, amount_minor FROM idem_create_transaction('t2', 'k1', 2, 'EUR', order_ref => 'o1');
COMMIT;
SHOW idem.tenant_id;
SELECT count(*) FROM idem_transactions;

-- Its own tenant: everything as without the wall.
SET idem.tenant_id = 't2';
SELECT outcome FROM idem_create_transaction('t2', 'k2', 3, 'EUR', order_ref => 'o2');
SELECT outcome FROM idem_create_transaction('t2', 'k2', 3, 'EUR', order_ref => 'o2');
SELECT idem_create_transaction('t2', 'k2', 4, 'EUR', order_ref => 'o2');
SELECT idem_create_transaction('t2', 'k3', 4, 'EUR', order_ref => 'o2');
SELECT outcome FROM idem_try_create_transaction('t2', 'k2', 4, 'EUR', order_ref => 'o2');
SELECT outcome FROM idem_try_create_transaction('t2', 'k3', 4, 'EUR', order_ref => 'o2');
-- Another tenant's key or order that exists, differs or is new: one and the same answer.
CREATE TEMP TABLE answers (case_name text, answer text);
DO $$
DECLARE
  item record;
  state text; message text; detail text; hint text; schema_name text; table_name text; column_name text; constraint_name text;
BEGIN
  FOR item IN
    SELECT f || ' ' || v.name AS name, format('SELECT %s(%s)', f, v.arguments) AS call
    FROM unnest(ARRAY['idem_create_transaction', 'idem_try_create_transaction']) f, (VALUES
      ('exists', $v$'t1', 'k1', 424242, 'EUR', '{"secret": 1}', order_ref => 'o1'$v$),
      ('differs', $v$'t1', 'k1', 7, 'EUR', order_ref => 'o1'$v$),
      ('differs without order', $v$'t1', 'k1', 7, 'EUR'$v$),
      ('is new', $v$'t1', 'new', 7, 'EUR'$v$),
      ('is new with an order that exists', $v$'t1', 'new', 7, 'EUR', order_ref => 'o1'$v$),
      ('is new with a new order', $v$'t1', 'new', 7, 'EUR', order_ref => 'new'$v$),
      ('is new with a new tenant', $v$'t3', 'new', 7, 'EUR', order_ref => 'new'$v$)) v (name, arguments)
  LOOP
    BEGIN
      EXECUTE item.call;
      INSERT INTO answers VALUES (item.name, 'none');
    EXCEPTION WHEN OTHERS THEN
      GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL,
        hint = PG_EXCEPTION_HINT, schema_name = SCHEMA_NAME, table_name = TABLE_NAME, column_name = COLUMN_NAME,
        constraint_name = CONSTRAINT_NAME;
      INSERT INTO answers VALUES (item.name, concat_ws('|', state, message, detail, hint, schema_name, table_name, column_name, constraint_name));
    END;
  END LOOP;
END $$;
SELECT answer, count(*) FROM answers GROUP BY answer;
DROP TABLE answers;
-- Statements by hand are bound likewise.
SELECT tenant_id, idempotency_key FROM idem_transactions ORDER BY 1, 2;
SELECT count(*) FROM idem_transactions WHERE tenant_id = 't1' OR amount_minor = 424242;
INSERT INTO idem_transactions (tenant_id, id, operation, idempotency_key, request_hash, hash_version, amount_minor, currency)
VALUES ('t1', gen_random_uuid(), 'create-transaction', 'k1', '\x00', 1, 1, 'EUR');
INSERT INTO idem_transactions (tenant_id, id, operation, idempotency_key, request_hash, hash_version, amount_minor, currency)
VALUES ('t1', gen_random_uuid(), 'create-transaction', 'k1', '\x00', 1, 1, 'EUR') ON CONFLICT DO NOTHING;
RESET ROLE;
GRANT UPDATE, DELETE ON idem_transactions TO regress_idem_app;
SET ROLE regress_idem_app;
UPDATE idem_transactions SET tenant_id = 't1' WHERE idempotency_key = 'k2';
WITH gone AS (DELETE FROM idem_transactions RETURNING tenant_id) SELECT tenant_id, count(*) FROM gone GROUP BY 1;
RESET ROLE;
REVOKE UPDATE, DELETE ON idem_transactions FROM regress_idem_app;
SELECT tenant_id, idempotency_key FROM idem_transactions ORDER BY 1, 2;

-- The setting is that of the moment, with the plans of the session and with prepared statements.
SET ROLE regress_idem_app;
PREPARE make (text) AS SELECT outcome, amount_minor FROM idem_create_transaction($1, 'p', 5, 'EUR');
PREPARE look AS SELECT count(*) FROM idem_transactions WHERE idempotency_key = 'p';
SET plan_cache_mode = force_generic_plan;
SET idem.tenant_id = 't1';
EXECUTE make ('t1');
EXECUTE make ('t2');
EXECUTE look;
SET idem.tenant_id = 't2';
EXECUTE look;
EXECUTE make ('t1');
EXECUTE make ('t2');
EXECUTE look;
RESET idem.tenant_id;
EXECUTE look;
EXECUTE make ('t2');
-- One statement with several tenants makes no row.
SET idem.tenant_id = 't2';
SELECT outcome FROM (VALUES ('t2'), ('t1')) v (tenant), LATERAL idem_create_transaction(v.tenant, 'batch', 1, 'EUR');
SELECT count(*) FROM idem_transactions WHERE idempotency_key = 'batch';
-- The condition is looked up in the index, with the rest of the key.
CREATE FUNCTION pg_temp.index_condition(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  line text;
BEGIN
  SET LOCAL enable_seqscan = off;
  SET LOCAL enable_bitmapscan = off;
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || statement LOOP
    IF line LIKE '%Index Cond:%' THEN
      RETURN btrim(line);
    END IF;
  END LOOP;
  RETURN 'none';
END $$;
SELECT pg_temp.index_condition($$SELECT * FROM idem_transactions WHERE operation = 'o' AND idempotency_key = 'k'$$);
SELECT pg_temp.index_condition('SELECT count(*) FROM idem_transactions');
-- row_security = off is an error, not a way around.
SET row_security = off;
SELECT count(*) FROM idem_transactions;
SELECT idem_create_transaction('t2', 'p', 5, 'EUR');
RESET row_security;
-- It is not theirs to change.
SELECT idem_enable_tenant_isolation();
SELECT idem_disable_tenant_isolation();
RESET ROLE;

-- Superusers and roles with BYPASSRLS are not bound.
CREATE ROLE regress_idem_bypass BYPASSRLS;
SELECT idem_grant('regress_idem_bypass');
SET ROLE regress_idem_bypass;
SELECT outcome FROM idem_create_transaction('t1', 'p', 5, 'EUR');
RESET ROLE;
SELECT outcome FROM idem_create_transaction('t2', 'p', 5, 'EUR');
DELETE FROM idem_transactions;

-- A permissive policy of the user's does not open the wall, and a restrictive one narrows what is inside.
CREATE POLICY everything ON idem_transactions USING (true);
CREATE POLICY euros ON idem_transactions AS RESTRICTIVE FOR INSERT WITH CHECK (currency = 'EUR');
SET client_min_messages = notice;
\set VERBOSITY default
SELECT idem_enable_tenant_isolation();
\set VERBOSITY sqlstate
SET ROLE regress_idem_app;
SET idem.tenant_id = 't1';
SELECT outcome FROM idem_create_transaction('t1', 'k', 1, 'EUR');
SELECT idem_create_transaction('t1', 'dollars', 1, 'USD');
SELECT idem_create_transaction('t2', 'k', 1, 'EUR');
SET idem.tenant_id = 't2';
SELECT count(*) FROM idem_transactions;
RESET ROLE;
DROP POLICY everything ON idem_transactions;
DROP POLICY euros ON idem_transactions;
-- Unique keys across tenants tell of each other's rows; the function says so.
CREATE UNIQUE INDEX regress_key_only ON idem_transactions (idempotency_key) INCLUDE (tenant_id);
CREATE UNIQUE INDEX regress_with_tenant ON idem_transactions (idempotency_key, tenant_id);
\set VERBOSITY default
SELECT idem_enable_tenant_isolation();
\set VERBOSITY sqlstate
SET client_min_messages = warning;
DROP INDEX regress_key_only, regress_with_tenant;
DELETE FROM idem_transactions;

-- One of the two policies holds alone; calling again mends what was changed.
DROP POLICY idem_tenant_wall ON idem_transactions;
SET ROLE regress_idem_app;
SELECT idem_create_transaction('t1', 'k', 1, 'EUR');
SELECT outcome FROM idem_create_transaction('t2', 'k', 1, 'EUR');
RESET ROLE;
ALTER POLICY idem_tenant ON idem_transactions TO regress_idem_app USING (true);
SELECT idem_enable_tenant_isolation();
SELECT * FROM wall ORDER BY polname;
ALTER POLICY idem_tenant_wall ON idem_transactions WITH CHECK (true);
ALTER TABLE idem_transactions NO FORCE ROW LEVEL SECURITY;
ALTER TABLE idem_transactions DISABLE ROW LEVEL SECURITY;
SELECT idem_enable_tenant_isolation('idem_transactions');
SELECT * FROM wall ORDER BY polname;
SELECT * FROM switches;
ALTER TABLE idem_transactions RENAME tenant_id TO merchant;
SELECT condition FROM wall ORDER BY polname;
ALTER TABLE idem_transactions RENAME merchant TO tenant_id;

-- Undone: policies and row security are gone. Again: nothing to do.
SELECT idem_disable_tenant_isolation();
SELECT * FROM wall;
SELECT * FROM switches;
-- A policy that only has the name, on a table that is not idem's, stays.
CREATE TABLE regress_stranger (tenant_id text);
CREATE POLICY idem_tenant ON regress_stranger USING (false);
ALTER TABLE regress_stranger ENABLE ROW LEVEL SECURITY;
SELECT idem_disable_tenant_isolation(), idem_disable_tenant_isolation('idem_transactions');
SELECT polname, relrowsecurity FROM pg_policy JOIN pg_class AS c ON c.oid = polrelid WHERE relname = 'regress_stranger';
DROP TABLE regress_stranger;
SET ROLE regress_idem_app;
RESET idem.tenant_id;
SELECT outcome FROM idem_create_transaction('t1', 'k', 1, 'EUR');
RESET ROLE;
-- Where the table has other policies, row security stays on.
CREATE POLICY euros ON idem_transactions USING (currency = 'EUR');
SELECT idem_enable_tenant_isolation();
SELECT idem_disable_tenant_isolation('idem_transactions');
SELECT polname FROM wall;
SELECT * FROM switches;
DROP POLICY euros ON idem_transactions;
ALTER TABLE idem_transactions NO FORCE ROW LEVEL SECURITY;
ALTER TABLE idem_transactions DISABLE ROW LEVEL SECURITY;
DELETE FROM idem_transactions;

-- Partitions are isolated themselves: whoever may read one directly sees its own tenant there.
BEGIN;
ALTER TABLE idem_transactions RENAME TO regress_plain;
CREATE TABLE idem_transactions (LIKE regress_plain INCLUDING DEFAULTS) PARTITION BY HASH (tenant_id);
ALTER TABLE idem_transactions ADD PRIMARY KEY (tenant_id, id);
ALTER TABLE idem_transactions ADD UNIQUE (tenant_id, operation, idempotency_key);
ALTER TABLE idem_transactions ADD UNIQUE (tenant_id, operation, order_ref);
CREATE TABLE regress_part PARTITION OF idem_transactions FOR VALUES WITH (MODULUS 1, REMAINDER 0) PARTITION BY HASH (tenant_id);
CREATE TABLE regress_leaf PARTITION OF regress_part FOR VALUES WITH (MODULUS 1, REMAINDER 0);
SELECT idem_grant('regress_idem_app');
GRANT SELECT, INSERT ON regress_part, regress_leaf TO regress_idem_app;
SELECT idem_enable_tenant_isolation();
SELECT outcome FROM unnest(ARRAY['t1', 't2']) t, LATERAL idem_create_transaction(t, 'k', 1, 'EUR');
SET LOCAL ROLE regress_idem_app;
SET LOCAL idem.tenant_id = 't2';
SELECT outcome FROM idem_create_transaction('t2', 'k', 1, 'EUR');
SELECT tenant_id FROM idem_transactions;
SELECT tenant_id FROM regress_part;
SELECT tenant_id FROM regress_leaf;
RESET ROLE;
SELECT idem_disable_tenant_isolation('idem_transactions');
SELECT count(*) AS policies FROM pg_policy;
ROLLBACK;

-- The owner needs to be no superuser, and is bound like all others; only the owner may.
CREATE ROLE regress_idem_owner;
BEGIN;
DROP VIEW wall, switches;
DROP EXTENSION idem;
CREATE SCHEMA "regress'x$y" AUTHORIZATION regress_idem_owner;
CREATE EXTENSION idem SCHEMA "regress'x$y";
ALTER TABLE "regress'x$y".idem_transactions OWNER TO regress_idem_owner;
SET LOCAL search_path = "regress'x$y";
SELECT idem_grant('regress_idem_bypass');
\set ON_ERROR_ROLLBACK on
SET LOCAL ROLE regress_idem_bypass;
SELECT idem_enable_tenant_isolation();
SET LOCAL ROLE regress_idem_owner;
SELECT idem_enable_tenant_isolation();
SELECT idem_create_transaction('t1', 'k', 1, 'EUR');
SET LOCAL idem.tenant_id = 't1';
SELECT outcome FROM idem_create_transaction('t1', 'k', 1, 'EUR');
SET LOCAL idem.tenant_id = 't2';
SELECT count(*) FROM idem_transactions;
TABLE idem_transactions;
SELECT idem_disable_tenant_isolation();
SELECT count(*) FROM idem_transactions;
-- What is no ledger and not attached is refused.
CREATE TABLE unknown (tenant_id text);
SELECT idem_enable_tenant_isolation('unknown');
DROP TABLE idem_transactions;
SELECT idem_enable_tenant_isolation();
\set VERBOSITY default
SELECT idem_enable_tenant_isolation('unknown');
SELECT idem_enable_tenant_isolation();
\set VERBOSITY sqlstate
SELECT idem_disable_tenant_isolation('unknown');
\set ON_ERROR_ROLLBACK off
ROLLBACK;
DROP VIEW wall, switches;
DROP OWNED BY regress_idem_app, regress_idem_bypass;
DROP ROLE regress_idem_app, regress_idem_owner, regress_idem_bypass;
