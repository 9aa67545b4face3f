-- Rows of the registry that come out of a stranger's dump: names in them are names, never SQL; what they name is asked
-- for its own rights and shape by whatever uses it.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
DROP ROLE IF EXISTS regress_idem_app, regress_idem_mallory;
CREATE ROLE regress_idem_app;
CREATE ROLE regress_idem_mallory;
CREATE TABLE regress_loot (what text);
CREATE TABLE regress_salary (tenant_id text NOT NULL, operation text NOT NULL, idempotency_key text NOT NULL, request_hash bytea, amount int,
  UNIQUE (tenant_id, operation, idempotency_key));
CREATE TABLE "regress_x'; DROP TABLE regress_loot; --" (LIKE regress_salary INCLUDING ALL);
CREATE TABLE regress_odd ("t'); DELETE FROM regress_loot; --" text NOT NULL, "o" text NOT NULL, "k" text NOT NULL, request_hash bytea,
  UNIQUE ("t'); DELETE FROM regress_loot; --", o, k));
CREATE VIEW regress_view AS SELECT * FROM regress_salary;
INSERT INTO regress_loot VALUES ('still here');

-- What a restore does: COPY into the registry, as the superuser.
\set stranger 'INSERT INTO idem_tables (target, target_name, tenant_column, operation_column, fixed_operation, key_column, hash_column, id_column, exclude, tenant_number, operation_number, key_number, hash_number, id_number) VALUES'
-- What can never have been attached.
:stranger (1, 'pg_catalog.pg_authid', 'rolname', 'rolname', NULL, 'rolname', 'rolpassword', NULL, '{}', 1, 2, 3, 4, 0);
:stranger (1, 'pg_catalog.pg_proc', 'proname', 'proname', NULL, 'prosrc', 'probin', NULL, '{}', 1, 2, 3, 4, 0);
:stranger (1, 'public.regress_view', 'tenant_id', 'operation', NULL, 'idempotency_key', 'request_hash', NULL, '{}', 1, 2, 3, 4, 0);
:stranger (1, 'public.regress_nothing', 'tenant_id', 'operation', NULL, 'idempotency_key', 'request_hash', NULL, '{}', 1, 2, 3, 4, 0);
:stranger ('pg_catalog.pg_authid'::regclass, '"nothing; DROP TABLE public.regress_loot"', 'a', 'b', NULL, 'c', 'd', NULL, '{}', 1, 2, 3, 4, 0);
SELECT count(*) FROM idem_tables;
-- A table that another role owns, with settings of the stranger's choice; numbers that are none; names like code.
:stranger (1, 'public.regress_salary', 'tenant_id', 'operation', NULL, 'idempotency_key', 'request_hash', NULL, '{not a path,"$.x\nDROP"}', -7, 32767, 0, 9, -1);
:stranger (1, 'public."regress_x''; DROP TABLE regress_loot; --"', 'tenant_id', NULL, E'x''; DROP TABLE regress_loot; --\n', 'idempotency_key', 'request_hash',
  'amount', '{}', 1, 2, 3, 4, 5);
:stranger (1, 'public.regress_odd', 't''); DELETE FROM regress_loot; --', 'o', NULL, 'k', 'no''such"column', 'x%s', '{}', 1, 2, 3, 4, 5);
SELECT target::regclass, tenant_number, operation_number, key_number, hash_number, id_number FROM idem_tables ORDER BY target_name COLLATE "C";

-- Calls look at the table itself, and run with the rights of their caller.
SELECT outcome FROM idem_insert('regress_salary', 't', 'k', '{"amount": 1}', 'o');
SELECT outcome FROM idem_insert('"regress_x''; DROP TABLE regress_loot; --"', 't', 'k', '{"amount": 1}');
SELECT outcome FROM idem_insert('regress_odd', 't', 'k', '{}', 'o');
SELECT outcome FROM idem_insert('pg_catalog.pg_authid', 't', 'k', '{}', 'o');
SET ROLE regress_idem_mallory;
SELECT outcome FROM idem_insert('regress_salary', 't', 'k', '{"amount": 1}', 'o');
SELECT idem_enable_tenant_isolation('regress_salary');
SELECT path FROM idem_write_path('regress_salary');
RESET ROLE;
-- The audit reads, and tells what is wrong.
SELECT severity, code, object, finding FROM idem_audit() WHERE code LIKE 'registry%' ORDER BY 1, 2, 3, 4;
SELECT count(*) > 0 AS audited FROM idem_audit();
-- The wall goes around what is named there: look at the registry before calling it.
SELECT idem_enable_tenant_isolation();
SELECT count(*) FROM pg_policy WHERE polrelid = 'regress_salary'::regclass;
SELECT idem_disable_tenant_isolation();
-- Renames and drops follow.
ALTER TABLE regress_odd RENAME "t'); DELETE FROM regress_loot; --" TO "t';--";
SELECT tenant_column FROM idem_tables WHERE target = 'regress_odd'::regclass;
ALTER TABLE "regress_x'; DROP TABLE regress_loot; --" RENAME TO "regress_x'";
SELECT target_name FROM idem_tables ORDER BY 1;
-- The owner puts it right.
SELECT idem_detach('regress_odd');
SELECT idem_attach('regress_salary', id_column => NULL);
SELECT outcome FROM idem_insert('regress_salary', 't', 'k', '{"amount": 1}', 'o');
DROP VIEW regress_view;
DROP TABLE regress_salary, "regress_x'", regress_odd;
SELECT count(*) FROM idem_tables;
SELECT * FROM regress_loot;
DROP TABLE regress_loot;

-- Nobody but its owner writes to the registry; the functions of its triggers serve no one else.
SET ROLE regress_idem_mallory;
\set VERBOSITY sqlstate
INSERT INTO idem_tables SELECT * FROM idem_tables;
UPDATE idem_tables SET target = 0;
DELETE FROM idem_tables;
TRUNCATE idem_tables;
CREATE TRIGGER t BEFORE INSERT ON idem_tables FOR EACH ROW EXECUTE FUNCTION _idem_resolve_table();
SELECT _idem_follow_renames();
SELECT _idem_follow_drops();
SELECT _idem_resolve_table();
SELECT _idem_forget_table();
CREATE EVENT TRIGGER regress_idem ON sql_drop EXECUTE FUNCTION _idem_follow_drops();
RESET ROLE;
DROP ROLE regress_idem_app, regress_idem_mallory;
