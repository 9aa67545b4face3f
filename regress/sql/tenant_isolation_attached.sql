-- Tenant isolation of attached tables: whatever type their tenants have, and whatever becomes of table and column.
\set VERBOSITY sqlstate
\set SHOW_CONTEXT never
SET client_min_messages = warning;
DROP ROLE IF EXISTS regress_idem_app;
CREATE ROLE regress_idem_app;
SELECT idem_grant('regress_idem_app');
CREATE DOMAIN shop AS varchar(5);
CREATE TYPE brand AS ENUM ('red', 'blue');
CREATE TABLE by_uuid (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, tenant_id uuid NOT NULL, operation text NOT NULL,
  idempotency_key text NOT NULL, request_hash bytea, amount int, UNIQUE (tenant_id, operation, idempotency_key));
CREATE TABLE by_number ("Te'n ant" bigint NOT NULL, idempotency_key text NOT NULL, request_hash bytea, amount int,
  UNIQUE (idempotency_key, "Te'n ant"));
CREATE TABLE by_domain (tenant_id shop NOT NULL, idempotency_key text NOT NULL, request_hash bytea, UNIQUE (tenant_id, idempotency_key));
CREATE TABLE by_enum (tenant_id brand NOT NULL, idempotency_key text NOT NULL, request_hash bytea, UNIQUE (tenant_id, idempotency_key))
  PARTITION BY HASH (tenant_id);
CREATE TABLE by_enum_0 PARTITION OF by_enum FOR VALUES WITH (MODULUS 1, REMAINDER 0);
CREATE TABLE not_attached (tenant_id text);
GRANT SELECT, INSERT ON by_uuid, by_number, by_domain, by_enum, by_enum_0, not_attached TO regress_idem_app;
SELECT idem_attach('by_uuid');
SELECT idem_attach('by_number', tenant_column => 'Te''n ant', fixed_operation => 'pay', id_column => NULL);
SELECT idem_attach('by_domain', fixed_operation => 'pay', id_column => NULL);
CREATE VIEW wall AS
  SELECT p.polrelid::regclass AS "table", string_agg(p.polname, ', ' ORDER BY p.polname) AS policies,
    string_agg(DISTINCT pg_get_expr(p.polqual, p.polrelid), ' OR ') AS condition
  FROM pg_policy p GROUP BY p.polrelid ORDER BY p.polrelid::regclass::text COLLATE "C";

-- One call for all; a table that is attached later takes another one, which touches only that.
SET client_min_messages = notice;
\set VERBOSITY default
SELECT idem_enable_tenant_isolation();
\set VERBOSITY sqlstate
SET client_min_messages = warning;
TABLE wall;
CREATE TEMP TABLE before AS SELECT oid, xmin::text AS version FROM pg_policy;
SELECT idem_attach('by_enum', fixed_operation => 'pay', id_column => NULL);
SELECT idem_enable_tenant_isolation();
SELECT count(*) AS looked_at, count(*) FILTER (WHERE p.oid IS NULL) AS written
FROM before b LEFT JOIN pg_policy p ON p.oid = b.oid AND p.xmin::text = b.version;
DROP TABLE before;
SELECT * FROM wall WHERE condition LIKE '%brand%';
SELECT idem_enable_tenant_isolation('not_attached');

-- By another tenant's hand.
SELECT outcome FROM idem_insert('by_uuid', '00000000-0000-0000-0000-00000000000a', 'k', '{"amount": 424242}', 'pay');
SELECT outcome FROM idem_insert('by_number', '1', 'k', '{"amount": 424242}');
SELECT outcome FROM idem_insert('by_domain', 'abcde', 'k', '{}');
SELECT outcome FROM idem_insert('by_enum', 'red', 'k', '{}');

-- No tenant: nothing, and no error of a cast.
SET ROLE regress_idem_app;
SELECT (SELECT count(*) FROM by_uuid) + (SELECT count(*) FROM by_number) + (SELECT count(*) FROM by_domain) + (SELECT count(*) FROM by_enum)
  + (SELECT count(*) FROM by_enum_0) AS rows;
SELECT idem_insert('by_uuid', '00000000-0000-0000-0000-00000000000a', 'k', '{"amount": 424242}', 'pay');
SELECT idem_insert('by_number', '1', 'k', '{"amount": 424242}');
-- Its own: all that works without the wall; however the value is written.
SET idem.tenant_id = '{0000000000000000000000000000000B}';
SELECT outcome, "row" -> 'amount' AS amount FROM idem_insert('by_uuid', '00000000-0000-0000-0000-00000000000b', 'k', '{"amount": 1}', 'pay');
SELECT outcome, "row" -> 'amount' AS amount FROM idem_insert('by_uuid', '00000000-0000-0000-0000-00000000000B', 'k', '{"amount": 1}', 'pay');
SELECT idem_insert('by_uuid', '00000000-0000-0000-0000-00000000000b', 'k', '{"amount": 2}', 'pay');
SELECT outcome FROM idem_try_insert('by_uuid', '00000000-0000-0000-0000-00000000000b', 'k', '{"amount": 2}', 'pay');
SELECT tenant_id FROM by_uuid;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT amount FROM by_uuid WHERE operation = 'pay' AND idempotency_key = 'k';
RESET enable_seqscan;
-- Another tenant's: one answer, whether the key exists, differs or is new.
CREATE TEMP TABLE answers (answer text);
DO $$
DECLARE
  arguments text;
  state text; message text; detail text; hint text; constraint_name text;
BEGIN
  FOREACH arguments IN ARRAY ARRAY[
    $v$'by_uuid', '00000000-0000-0000-0000-00000000000a', 'k', '{"amount": 424242}', 'pay'$v$,
    $v$'by_uuid', '00000000-0000-0000-0000-00000000000a', 'k', '{"amount": 1}', 'pay'$v$,
    $v$'by_uuid', '00000000-0000-0000-0000-00000000000a', 'new', '{"amount": 1}', 'pay'$v$,
    $v$'by_uuid', '00000000-0000-0000-0000-00000000000a', 'k', '{"amount": 1}', 'refund'$v$,
    $v$'by_uuid', '00000000-0000-0000-0000-00000000000c', 'k', '{"amount": 1}', 'pay'$v$]
  LOOP
    BEGIN
      EXECUTE format('SELECT idem_insert(%s)', arguments);
      INSERT INTO answers VALUES ('none');
    EXCEPTION WHEN OTHERS THEN
      GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL,
        hint = PG_EXCEPTION_HINT, constraint_name = CONSTRAINT_NAME;
      INSERT INTO answers VALUES (concat_ws('|', state, message, detail, hint, constraint_name));
    END;
  END LOOP;
END $$;
SELECT answer, count(*) FROM answers GROUP BY answer;
DROP TABLE answers;
SET idem.tenant_id = '2';
SELECT outcome FROM idem_insert('by_number', '2', 'k', '{"amount": 1}');
SELECT outcome FROM idem_insert('by_number', '02', 'k', '{"amount": 1}');
SELECT idem_insert('by_number', '1', 'k', '{"amount": 424242}');
SELECT "Te'n ant" FROM by_number;
SET idem.tenant_id = 'blue';
SELECT outcome FROM idem_insert('by_enum', 'blue', 'k', '{}');
SELECT idem_insert('by_enum', 'red', 'k', '{}');
SELECT (SELECT string_agg(tenant_id::text, ' ') FROM by_enum) AS "table", (SELECT string_agg(tenant_id::text, ' ') FROM by_enum_0) AS partition;
-- A value that is longer than the column is not cut to another tenant's.
SET idem.tenant_id = 'abcdef';
SELECT count(*) FROM by_domain;
SELECT idem_insert('by_domain', 'abcde', 'new', '{}');
SET idem.tenant_id = 'abcde';
SELECT outcome FROM idem_insert('by_domain', 'abcde', 'k', '{}');
-- A setting that is no value of the type is an error, which shows nothing but the setting.
\set VERBOSITY default
SELECT count(*) FROM by_uuid;
SELECT idem_insert('by_number', '1', 'k', '{"amount": 424242}');
\set VERBOSITY sqlstate
RESET idem.tenant_id;
RESET ROLE;

-- What becomes of the column: a renamed one is followed, another one is taken where the table is attached anew.
ALTER TABLE by_number RENAME "Te'n ant" TO shop;
SELECT condition FROM wall WHERE "table" = 'by_number'::regclass;
DELETE FROM by_number WHERE shop = 2;
ALTER TABLE by_number ADD merchant bigint NOT NULL DEFAULT 7, ADD UNIQUE (merchant, idempotency_key);
SELECT idem_attach('by_number', tenant_column => 'merchant', fixed_operation => 'pay', id_column => NULL);
SELECT idem_enable_tenant_isolation('by_number');
SELECT condition FROM wall WHERE "table" = 'by_number'::regclass;
-- One that is dropped takes the policies along. Nothing is open, and the function says what is wrong.
ALTER TABLE by_number DROP merchant CASCADE;
SET ROLE regress_idem_app;
SET idem.tenant_id = '7';
SELECT count(*) FROM by_number;
RESET idem.tenant_id;
RESET ROLE;
SELECT * FROM wall WHERE "table" = 'by_number'::regclass;
\set VERBOSITY default
SELECT idem_enable_tenant_isolation();
\set VERBOSITY sqlstate
-- A detached table keeps its wall until that is taken down.
SELECT idem_detach('by_number'), idem_detach('by_uuid'), idem_detach('by_enum');
SELECT idem_enable_tenant_isolation();
SELECT "table" FROM wall;
SELECT idem_disable_tenant_isolation('by_enum');
SELECT "table" FROM wall;
SELECT idem_disable_tenant_isolation();
SELECT "table" FROM wall;
SELECT relname FROM pg_class WHERE relrowsecurity OR relforcerowsecurity ORDER BY relname;

DROP VIEW wall;
DROP TABLE by_uuid, by_number, by_domain, by_enum, not_attached;
DROP DOMAIN shop;
DROP TYPE brand;
DROP OWNED BY regress_idem_app;
DROP ROLE regress_idem_app;
