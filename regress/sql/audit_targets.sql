-- What cannot be audited is refused with the SQLSTATE that says why, by all functions that take a table.
\set VERBOSITY sqlstate
SET client_min_messages = warning;
CREATE TABLE regress_table (id int PRIMARY KEY, key text);
CREATE VIEW regress_view AS SELECT * FROM regress_table;
CREATE MATERIALIZED VIEW regress_matview AS SELECT * FROM regress_table;
CREATE SEQUENCE regress_sequence;
CREATE TYPE regress_type AS (key text);
CREATE FOREIGN DATA WRAPPER regress_wrapper;
CREATE SERVER regress_server FOREIGN DATA WRAPPER regress_wrapper;
CREATE FOREIGN TABLE regress_foreign (key text) SERVER regress_server;
CREATE TABLE regress_hidden (key text);
DROP ROLE IF EXISTS regress_idem_reader;
CREATE ROLE regress_idem_reader;
GRANT EXECUTE ON FUNCTION idem_audit_table, idem_find_duplicates, idem_audit TO regress_idem_reader;

CREATE FUNCTION pg_temp.refusals(what text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  call text;
  answer text := '';
BEGIN
  FOREACH call IN ARRAY ARRAY['idem_audit_table(%L)', 'idem_find_duplicates(%L, ''{key}'')'] LOOP
    BEGIN
      EXECUTE format('SELECT * FROM ' || call, what);
      answer := answer || 'accepted ';
    EXCEPTION WHEN OTHERS THEN
      answer := answer || SQLSTATE || ' ';
    END;
  END LOOP;
  RETURN answer;
END $$;
SELECT what, pg_temp.refusals(what) FROM unnest(ARRAY['regress_table', 'regress_view', 'regress_matview', 'regress_sequence',
  'regress_type', 'regress_table_pkey', 'regress_foreign', 'pg_class', 'pg_catalog.pg_authid', 'information_schema.sql_features',
  'regress_nothing', '4294967295']) WITH ORDINALITY AS u (what, place) ORDER BY place;
SELECT pg_temp.refusals('pg_toast.' || relname) FROM pg_class
WHERE oid = (SELECT reltoastrelid FROM pg_class WHERE relname = 'regress_hidden');
SELECT pg_temp.refusals(NULL);
-- One's own temporary table is like any other.
CREATE TEMP TABLE regress_temp (key text);
SELECT pg_temp.refusals('regress_temp');

-- A role that may not read the table; one that may; and one that may not call at all.
SET ROLE regress_idem_reader;
SELECT pg_temp.refusals('regress_hidden');
RESET ROLE;
GRANT SELECT ON regress_hidden TO regress_idem_reader;
SET ROLE regress_idem_reader;
SELECT pg_temp.refusals('regress_hidden');
-- The audit of everything tells what it could not read, and goes on.
SELECT severity, code, object FROM idem_audit() WHERE code = 'not_readable';
RESET ROLE;
REVOKE EXECUTE ON FUNCTION idem_audit_table, idem_find_duplicates, idem_audit FROM regress_idem_reader;
SET ROLE regress_idem_reader;
SELECT pg_temp.refusals('regress_hidden');
SELECT * FROM idem_audit();
RESET ROLE;
SELECT * FROM idem_audit(max_groups => 0);
SELECT * FROM idem_audit_table('regress_table', max_groups => NULL);

DROP VIEW regress_view;
DROP MATERIALIZED VIEW regress_matview;
DROP SEQUENCE regress_sequence;
DROP TYPE regress_type;
DROP FOREIGN DATA WRAPPER regress_wrapper CASCADE;
DROP TABLE regress_table, regress_hidden, regress_temp;
DROP ROLE regress_idem_reader;
-- An index that is gone by the time it is looked at, as one that REINDEX CONCURRENTLY replaces, does not end the audit.
SELECT _idem_key_problem(0, '{1}');
SELECT _idem_key_problem('pg_class', '{1}');
