-- Functions that somebody planted beside those of the extension, with argument types that would fit a call better, are
-- not taken for them by the extension's own functions, whoever calls these.
SET client_min_messages = warning;
DROP ROLE IF EXISTS regress_idem_mallory, regress_idem_app;
CREATE ROLE regress_idem_mallory;
CREATE ROLE regress_idem_app;
SELECT current_database() AS home \gset
CREATE DATABASE regress_idem_planted TEMPLATE template0;
\connect regress_idem_planted
SET client_min_messages = warning;
CREATE SCHEMA regress_home;
CREATE EXTENSION idem SCHEMA regress_home;
GRANT CREATE, USAGE ON SCHEMA regress_home TO regress_idem_mallory;

-- What is planted: every function of the extension again, with one argument of a type that its own converts from by
-- itself, or of one that a literal prefers.
CREATE FUNCTION pg_temp.lures(function oid) RETURNS SETOF text LANGUAGE sql AS $$
  WITH argument AS (
    SELECT u.place, u.type, t.typelem, t.typcategory = 'A' AS is_array
    FROM pg_proc AS p, unnest(p.proargtypes::oid[]) WITH ORDINALITY AS u (type, place), pg_type AS t
    WHERE p.oid = function AND t.oid = u.type),
  other AS (
    SELECT a.place, s.type::regtype::text AS type
    FROM argument AS a, LATERAL (
      SELECT c.castsource FROM pg_cast AS c WHERE NOT a.is_array AND c.casttarget = a.type AND c.castcontext = 'i'
      UNION
      SELECT t.typarray FROM pg_cast AS c JOIN pg_type AS t ON t.oid = c.castsource
      WHERE a.is_array AND c.casttarget = a.typelem AND c.castcontext = 'i' AND t.typarray <> 0
      UNION
      SELECT unnest(ARRAY['text', 'anyelement', 'anyarray', 'oid', 'text[]']::regtype[])) AS s (type)
    WHERE s.type <> a.type)
  SELECT (SELECT string_agg(CASE WHEN a.place = o.place THEN o.type ELSE a.type::regtype::text END, ', ' ORDER BY a.place) FROM argument AS a)
  FROM other AS o
$$;
SET ROLE regress_idem_mallory;
DO $$
DECLARE
  lure record;
BEGIN
  FOR lure IN
    SELECT p.proname, l.arguments
    FROM pg_proc AS p, LATERAL pg_temp.lures(p.oid) AS l (arguments)
    WHERE p.pronamespace = 'regress_home'::regnamespace
    ORDER BY p.oid, l.arguments
  LOOP
    BEGIN
      EXECUTE format('CREATE FUNCTION regress_home.%I(%s) RETURNS void LANGUAGE plpgsql AS ''BEGIN RAISE ''''hijacked''''; END''',
        lure.proname, lure.arguments);
    EXCEPTION WHEN duplicate_function THEN -- another place was changed to the same types
    END;
  END LOOP;
END $$;
RESET ROLE;
SELECT count(*) > 200 AS enough
FROM pg_proc WHERE pronamespace = 'regress_home'::regnamespace AND proowner = 'regress_idem_mallory'::regrole;
-- The trap works: a literal goes to the function that takes text.
SELECT regress_home._idem_check_readable('pg_class');

-- Everything that the extension does by itself. The arguments have the types of the functions.
CREATE TABLE pay (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), tenant_id text NOT NULL, operation text NOT NULL,
  idempotency_key text NOT NULL, request_hash bytea, note text, amount_minor bigint, created_at timestamptz DEFAULT now(),
  UNIQUE (tenant_id, operation, idempotency_key));
CREATE TABLE unprotected (tenant_id text, operation text, idempotency_key text, note text, UNIQUE (tenant_id, operation, idempotency_key, note));
SELECT regress_home.idem_attach('pay'::regclass, 'tenant_id'::name, 'operation'::name, 'idempotency_key'::name, 'request_hash'::name,
  'id'::name, NULL::text, '{$.note}'::text[]);
SELECT regress_home.idem_grant('regress_idem_app'::text);
SELECT regress_home.idem_create_ledger();
SELECT outcome FROM regress_home.idem_create_transaction('t'::text, 'k'::text, 1::bigint, 'EUR'::text, '{}'::jsonb, 'o'::text, 'r'::text);
SELECT outcome FROM regress_home.idem_create_transactions('{t,t}'::text[], '{k,k2}'::text[], '{1,2}'::bigint[], '{EUR,EUR}'::text[],
  NULL::jsonb[], '{o,o}'::text[], NULL::text[], 'each'::text);
SELECT i.outcome FROM unnest(ARRAY['k1', 'k2', 'k1']) AS u (k),
  LATERAL regress_home.idem_insert('pay'::regclass, 't'::text, u.k, '{"amount_minor": 1, "note": "n"}'::jsonb, 'o'::text) AS i;
INSERT INTO unprotected VALUES ('t', 'o', 'k', 'n'), (NULL, 'o', 'k', 'n');
SELECT f.severity, f.code, f.object FROM regress_home.idem_audit('1 hour'::interval, 20::integer) AS f WHERE f.code <> 'fsync_off';
SELECT f.severity, f.code, f.object FROM regress_home.idem_audit_table('unprotected'::regclass, '1 hour'::interval, 20::integer) AS f;
SELECT f.severity, f.code, f.object FROM regress_home.idem_audit_table('pay'::regclass, '1 hour'::interval, 20::integer) AS f;
SELECT d."values", d."rows", d.amount FROM regress_home.idem_find_duplicates('pay'::regclass, '{note}'::text[], NULL::text, 10::integer, 10::integer) AS d;
SELECT d."values", d."rows" FROM regress_home.idem_find_duplicates('unprotected'::regclass, '{operation}'::text[], NULL::text, 10::integer, 10::integer) AS d;
SELECT w.path FROM regress_home.idem_write_path('pay'::regclass) AS w;
SELECT regress_home.idem_enable_tenant_isolation(NULL::regclass);
SELECT regress_home.idem_enable_tenant_isolation('pay'::regclass);
SELECT count(*) FROM pg_policy;
SELECT regress_home.idem_disable_tenant_isolation(NULL::regclass);
SELECT count(*) FROM pg_policy;
ALTER TABLE pay RENAME TO paid;
SELECT target_name FROM regress_home.idem_tables;
DROP TABLE paid;
SELECT count(*) FROM regress_home.idem_tables;
SELECT count(*) FROM regress_home.idem_stats;
-- The installation, where they stand there before.
DROP EXTENSION idem;
DROP TABLE regress_home.idem_transactions;
CREATE EXTENSION idem SCHEMA regress_home;
SELECT regress_home.idem_grant('regress_idem_app'::text);
SELECT outcome FROM regress_home.idem_create_transaction('t'::text, 'k'::text, 1::bigint, 'EUR'::text, '{}'::jsonb, 'o'::text, NULL::text);
SELECT count(*) FROM regress_home.idem_stats;

-- One more argument, with a default, makes a call ambiguous. That stops it; it leads nowhere else.
SET ROLE regress_idem_mallory;
DO $$
DECLARE
  lure record;
BEGIN
  FOR lure IN
    SELECT p.proname, concat_ws(', ', nullif(oidvectortypes(p.proargtypes), ''), 'VARIADIC "char"[] DEFAULT NULL') AS arguments
    FROM pg_proc AS p WHERE p.pronamespace = 'regress_home'::regnamespace AND p.proowner <> 'regress_idem_mallory'::regrole
  LOOP
    EXECUTE format('CREATE FUNCTION regress_home.%I(%s) RETURNS void LANGUAGE plpgsql AS ''BEGIN RAISE ''''hijacked''''; END''',
      lure.proname, lure.arguments);
  END LOOP;
END $$;
RESET ROLE;
\set VERBOSITY sqlstate
SELECT regress_home.idem_version();
SELECT regress_home.idem_create_ledger();
SELECT regress_home.idem_grant('regress_idem_app'::text);
SELECT regress_home.idem_audit('1 hour'::interval, 20::integer);
SELECT regress_home.idem_create_transaction('t'::text, 'k'::text, 1::bigint, 'EUR'::text, '{}'::jsonb, 'o'::text, NULL::text);
DROP EXTENSION idem;
DROP TABLE regress_home.idem_transactions;
CREATE EXTENSION idem SCHEMA regress_home;
\connect :home
DROP DATABASE regress_idem_planted;
DROP ROLE regress_idem_mallory, regress_idem_app;
