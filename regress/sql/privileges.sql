-- What a role needs, what idem_grant gives, and that the calls run with the rights of their caller.
\set VERBOSITY sqlstate
SET client_min_messages = warning;
DROP ROLE IF EXISTS regress_idem_app, "regress idem ""O'Dd""", regress_idem_none;
CREATE ROLE regress_idem_app;
CREATE ROLE "regress idem ""O'Dd""";
CREATE ROLE regress_idem_none;

CREATE FUNCTION pg_temp.rights(who regrole) RETURNS TABLE (object text, rights text, grantable bool) LANGUAGE sql AS $$
  SELECT object, string_agg(privilege_type, ' ' ORDER BY privilege_type), bool_or(is_grantable) FROM (
    SELECT 'table ' || relname, a.* FROM pg_class, aclexplode(relacl) a
    UNION ALL SELECT 'column ' || attname, a.* FROM pg_attribute, aclexplode(attacl) a
    UNION ALL SELECT 'schema', a.* FROM pg_namespace, aclexplode(nspacl) a
    UNION ALL SELECT 'function ' || proname, a.* FROM pg_proc, aclexplode(proacl) a
    UNION ALL SELECT 'database', a.* FROM pg_database, aclexplode(datacl) a
    UNION ALL SELECT 'type ' || typname, a.* FROM pg_type, aclexplode(typacl) a) AS acl(object)
  WHERE grantee = who GROUP BY object ORDER BY object COLLATE "C"
$$;

-- A new role may neither use the ledger nor administer it.
SET ROLE regress_idem_app;
SELECT idem_create_transaction('t', 'k', 1, 'EUR');
SELECT idem_try_create_transaction('t', 'k', 1, 'EUR');
SELECT count(*) FROM idem_transactions;
SELECT idem_grant('regress_idem_app');
SELECT idem_create_ledger();
SELECT _idem_check_ledger();
SELECT idem_canonical('{"a": 1.0}'), length(idem_fingerprint(1, 'EUR')), idem_version() IS NOT NULL AS version;
-- Even so a malformed request is told to be malformed, and READ ONLY to be read only.
SELECT idem_create_transaction(NULL, 'k', 1, 'EUR');
BEGIN READ ONLY;
SELECT idem_create_transaction('t', 'k', 1, 'EUR');
ROLLBACK;
RESET ROLE;

-- idem_grant gives exactly this, each time.
SELECT idem_grant('regress_idem_app');
SELECT idem_grant('regress_idem_app');
SELECT * FROM pg_temp.rights('regress_idem_app');
SELECT privilege, has_table_privilege('regress_idem_app', 'idem_transactions', privilege) AS has
FROM unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER']) privilege ORDER BY privilege;
SET ROLE regress_idem_app;
SELECT outcome FROM idem_create_transaction('t', 'k', 1, 'EUR', '{"a": 1}', order_ref => 'o');
SELECT outcome FROM idem_create_transaction('t', 'k', 1, 'EUR', '{"a": 1}', order_ref => 'o');
SELECT idem_create_transaction('t', 'k', 1, 'EUR', '{"a": 2}', order_ref => 'o');
SELECT idem_create_transaction('t', 'k2', 1, 'EUR', order_ref => 'o');
SELECT outcome FROM idem_try_create_transaction('t', 'k2', 1, 'EUR', order_ref => 'o');
SELECT idempotency_key FROM idem_transactions;
UPDATE idem_transactions SET amount_minor = 2;
DELETE FROM idem_transactions;
TRUNCATE idem_transactions;
SELECT 1 FROM idem_transactions FOR UPDATE;
SELECT idem_grant('regress_idem_none');
SELECT idem_create_ledger();
RESET ROLE;

-- Names that need quoting; roles that are none.
SELECT idem_grant('regress idem "O''Dd"');
SELECT * FROM pg_temp.rights('"regress idem ""O''Dd"""');
SELECT idem_grant('regress_idem_nobody');
SELECT idem_grant('public');
SELECT idem_grant('PUBLIC');
SELECT idem_grant('current_user');
SELECT idem_grant('session_user');
SELECT idem_grant('none');
SELECT idem_grant('Regress_idem_app');
SELECT idem_grant('regress_idem_app, regress_idem_none');
SELECT idem_grant('');
SELECT idem_grant(NULL);
SELECT * FROM pg_temp.rights('regress_idem_none');

-- Who may call idem_grant, but not grant, gets an error, with and without a right of its own on the ledger.
GRANT EXECUTE ON FUNCTION idem_grant(text), _idem_check_ledger(), idem_create_ledger() TO regress_idem_app, regress_idem_none;
SET client_min_messages = error;
SET ROLE regress_idem_app;
\set VERBOSITY default
\set SHOW_CONTEXT never
SELECT idem_grant('regress_idem_none');
\set VERBOSITY sqlstate
SET ROLE regress_idem_none;
SELECT idem_grant('regress_idem_none');
RESET ROLE;
SET client_min_messages = warning;
SELECT * FROM pg_temp.rights('regress_idem_none');

-- Who may call idem_create_ledger, but owns neither the extension nor the schema, makes no ledger and adopts none.
BEGIN;
GRANT CREATE ON SCHEMA public TO regress_idem_none;
\set ON_ERROR_ROLLBACK on
SET LOCAL ROLE regress_idem_none;
SELECT idem_create_ledger();
RESET ROLE;
DROP TABLE idem_transactions;
SET LOCAL ROLE regress_idem_none;
\set VERBOSITY default
SELECT idem_create_ledger();
\set VERBOSITY sqlstate
SELECT to_regclass('idem_transactions') IS NULL AS no_table;
\set ON_ERROR_ROLLBACK off
ROLLBACK;
REVOKE EXECUTE ON FUNCTION idem_grant(text), _idem_check_ledger(), idem_create_ledger() FROM regress_idem_app, regress_idem_none;

-- Without the one or the other right a call fails; what was stored is not shown.
REVOKE INSERT ON idem_transactions FROM regress_idem_app;
SET ROLE regress_idem_app;
SELECT idem_create_transaction('t', 'k', 1, 'EUR', '{"a": 1}', order_ref => 'o');
SELECT idem_create_transaction('t', 'k3', 1, 'EUR');
RESET ROLE;
GRANT INSERT ON idem_transactions TO regress_idem_app;
REVOKE SELECT ON idem_transactions FROM regress_idem_app;
SET ROLE regress_idem_app;
SELECT idem_create_transaction('t', 'k', 1, 'EUR', '{"a": 1}', order_ref => 'o');
SELECT idem_create_transaction('t', 'k', 2, 'EUR', '{"a": 1}', order_ref => 'o');
SELECT idem_create_transaction('t', 'k3', 1, 'EUR');
RESET ROLE;

-- Column privileges do where they cover every column of the ledger, and do not where one is missing.
REVOKE ALL ON idem_transactions FROM regress_idem_app;
GRANT SELECT (tenant_id, id, operation, idempotency_key, request_hash, hash_version, amount_minor, currency, order_ref, details, created_at),
  INSERT (tenant_id, id, operation, idempotency_key, request_hash, hash_version, amount_minor, currency, order_ref, details, created_at)
  ON idem_transactions TO regress_idem_app;
SET ROLE regress_idem_app;
SELECT outcome FROM idem_create_transaction('t', 'k', 1, 'EUR', '{"a": 1}', order_ref => 'o');
SELECT outcome FROM idem_create_transaction('t', 'k3', 1, 'EUR');
RESET ROLE;
REVOKE SELECT (details) ON idem_transactions FROM regress_idem_app;
SET ROLE regress_idem_app;
SELECT idem_create_transaction('t', 'k', 1, 'EUR', '{"a": 1}', order_ref => 'o');
RESET ROLE;
GRANT SELECT (details) ON idem_transactions TO regress_idem_app;
REVOKE INSERT (request_hash) ON idem_transactions FROM regress_idem_app;
SET ROLE regress_idem_app;
SELECT idem_create_transaction('t', 'k4', 1, 'EUR');
RESET ROLE;
SELECT idempotency_key FROM idem_transactions ORDER BY idempotency_key;
DELETE FROM idem_transactions;

-- EXECUTE can be taken from everybody and given back to one role.
BEGIN;
\set ON_ERROR_ROLLBACK on
REVOKE EXECUTE ON FUNCTION idem_create_transaction FROM PUBLIC, regress_idem_app;
SET LOCAL ROLE regress_idem_app;
SELECT idem_create_transaction('t', 'k', 1, 'EUR');
RESET ROLE;
SELECT idem_grant('regress_idem_app');
SET LOCAL ROLE regress_idem_app;
SELECT outcome FROM idem_create_transaction('t', 'k', 1, 'EUR');
\set ON_ERROR_ROLLBACK off
ROLLBACK;

-- Nothing of idem runs with other rights than those of its caller.
SELECT p.proname FROM pg_depend d JOIN pg_proc p ON p.oid = d.objid AND d.classid = 'pg_proc'::regclass
WHERE d.refclassid = 'pg_extension'::regclass AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'idem')
  AND p.prosecdef AND p.prorettype <> 'event_trigger'::regtype ORDER BY p.proname;
-- A caller that changes its role in the session calls with the new one, also where a plan was kept.
SET ROLE regress_idem_none;
SELECT idem_create_transaction('t', 'k', 1, 'EUR');
RESET ROLE;
SELECT outcome FROM idem_create_transaction('t', 'k', 1, 'EUR');
SET ROLE regress_idem_none;
SELECT idem_create_transaction('t', 'k', 1, 'EUR');
RESET ROLE;
DELETE FROM idem_transactions;

-- The trigger function of the registry serves no other table, and no statement, whoever makes a trigger of it.
CREATE SCHEMA regress_idem AUTHORIZATION regress_idem_none;
SET ROLE regress_idem_none;
CREATE TABLE regress_idem.a (target oid);
CREATE TABLE regress_idem.b ();
CREATE TRIGGER forget AFTER INSERT ON regress_idem.a FOR EACH STATEMENT EXECUTE FUNCTION _idem_forget_table();
CREATE TRIGGER forget AFTER INSERT ON regress_idem.b FOR EACH ROW EXECUTE FUNCTION _idem_forget_table();
INSERT INTO regress_idem.a VALUES ('idem_tables'::regclass);
INSERT INTO regress_idem.b DEFAULT VALUES;
RESET ROLE;
DROP SCHEMA regress_idem CASCADE;
BEGIN;
CREATE TRIGGER regress_forget AFTER INSERT ON idem_tables FOR EACH STATEMENT EXECUTE FUNCTION _idem_forget_table();
INSERT INTO idem_tables SELECT * FROM idem_tables WHERE false;
ROLLBACK;

-- Without USAGE of the ledger's schema, and with it.
BEGIN;
DROP EXTENSION idem;
CREATE SCHEMA regress_idem;
CREATE EXTENSION idem SCHEMA regress_idem;
\set ON_ERROR_ROLLBACK on
GRANT INSERT, SELECT ON regress_idem.idem_transactions TO regress_idem_none;
SET LOCAL ROLE regress_idem_none;
SELECT regress_idem.idem_create_transaction('t', 'k', 1, 'EUR');
-- Nor behind a view, through which the function can be called.
RESET ROLE;
CREATE SCHEMA regress_idem_front;
CREATE VIEW regress_idem_front.once AS SELECT outcome FROM regress_idem.idem_create_transaction('t', 'k', 1, 'EUR');
CREATE VIEW regress_idem_front.many AS
  SELECT outcome FROM regress_idem.idem_create_transactions('{t}', '{k}', '{1}', '{EUR}');
GRANT USAGE ON SCHEMA regress_idem_front TO regress_idem_none;
GRANT SELECT ON ALL TABLES IN SCHEMA regress_idem_front TO regress_idem_none;
SET LOCAL ROLE regress_idem_none;
SELECT * FROM regress_idem_front.once;
SELECT * FROM regress_idem_front.many;
RESET ROLE;
SELECT * FROM regress_idem_front.once;
SET LOCAL ROLE regress_idem_none;
SELECT * FROM regress_idem_front.once;
SELECT * FROM regress_idem_front.many;
RESET ROLE;
DELETE FROM regress_idem.idem_transactions;
DROP VIEW regress_idem_front.once, regress_idem_front.many;
DROP SCHEMA regress_idem_front;
SELECT regress_idem.idem_grant('regress_idem_none');
SELECT * FROM pg_temp.rights('regress_idem_none');
SET LOCAL ROLE regress_idem_none;
SELECT outcome FROM regress_idem.idem_create_transaction('t', 'k', 1, 'EUR');
\set ON_ERROR_ROLLBACK off
ROLLBACK;

-- A role that was granted all this and is dropped leaves nothing behind.
DROP FUNCTION pg_temp.rights;
DROP OWNED BY regress_idem_app, "regress idem ""O'Dd""", regress_idem_none;
DROP ROLE regress_idem_app, "regress idem ""O'Dd""", regress_idem_none;
