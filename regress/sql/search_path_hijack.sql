-- H61: objects that somebody planted in the search path are not used, whoever calls.
SET client_min_messages = warning;
DROP ROLE IF EXISTS regress_idem_app;
CREATE SCHEMA evil;
CREATE FUNCTION evil.hijack() RETURNS int LANGUAGE plpgsql AS $$
BEGIN
  RAISE 'hijacked';
END $$;

CREATE ROLE regress_idem_app;
CREATE TYPE public.pay_state AS ENUM ('new', 'paid');
CREATE TABLE public.pay (id bigserial PRIMARY KEY, tenant_id uuid NOT NULL, operation public.pay_state NOT NULL, key bigint NOT NULL,
  idempotency_key text NOT NULL, request_hash bytea, amount numeric(10,2) CHECK (amount > 0), meta jsonb, note varchar(5),
  invoice_no text UNIQUE, at timestamptz DEFAULT now(), UNIQUE (tenant_id, operation, idempotency_key), UNIQUE (tenant_id, key));

-- Everything that pg_catalog has, out of the catalog itself: each operator, function, type and relation. What takes or
-- gives pseudo-types cannot be made so; what of these matters follows.
SET search_path = pg_catalog, pg_temp;
SET check_function_bodies = off;
CREATE FUNCTION pg_temp.plant(name text, arguments text, result text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('CREATE FUNCTION evil.%I(%s) RETURNS %s LANGUAGE plpgsql AS ''BEGIN RAISE ''''hijacked''''; END''', name, arguments, result);
END $$;
SELECT count(pg_temp.plant(p.proname, oidvectortypes(p.proargtypes),
    CASE WHEN r.typtype = 'p' OR p.proretset THEN 'void' ELSE format_type(r.oid, NULL) END)) > 2000 AS enough
FROM pg_proc AS p JOIN pg_type AS r ON r.oid = p.prorettype
WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.prokind = 'f' AND p.provariadic = 0
  AND NOT EXISTS (SELECT FROM pg_type WHERE oid = ANY (p.proargtypes) AND typtype = 'p');
DO $$
DECLARE
  op record;
BEGIN
  FOR op IN
    SELECT o.oprname, format_type(o.oprresult, NULL) AS result,
      concat_ws(', ', format_type(nullif(o.oprleft, 0), NULL), format_type(o.oprright, NULL)) AS arguments,
      concat_ws(', ', 'LEFTARG = ' || format_type(nullif(o.oprleft, 0), NULL), 'RIGHTARG = ' || format_type(o.oprright, NULL)) AS operands
    FROM pg_operator AS o
    WHERE o.oprnamespace = 'pg_catalog'::regnamespace AND o.oprresult <> 0
      AND NOT EXISTS (SELECT FROM pg_type WHERE oid IN (o.oprleft, o.oprright, o.oprresult) AND typtype = 'p')
    ORDER BY o.oid
  LOOP
    PERFORM pg_temp.plant('op_' || op.oprname, op.arguments, op.result);
    EXECUTE format('CREATE OPERATOR evil.%s (FUNCTION = evil.%I, %s)', op.oprname, 'op_' || op.oprname, op.operands);
  END LOOP;
END $$;
SELECT count(*) > 700 AS enough FROM pg_operator WHERE oprnamespace = 'evil'::regnamespace;
-- Where pg_catalog has one function or operator for all arrays or for anything, those that fit a call better.
CREATE FUNCTION evil.format(text, VARIADIC text[]) RETURNS text LANGUAGE sql AS 'SELECT evil.hijack()::text';
CREATE FUNCTION evil.format(text, text) RETURNS text LANGUAGE sql AS 'SELECT evil.hijack()::text';
CREATE FUNCTION evil.format(text, text, name) RETURNS text LANGUAGE sql AS 'SELECT evil.hijack()::text';
CREATE FUNCTION evil.format(text, text, text) RETURNS text LANGUAGE sql AS 'SELECT evil.hijack()::text';
CREATE FUNCTION evil.concat_ws(text, VARIADIC text[]) RETURNS text LANGUAGE sql AS 'SELECT evil.hijack()::text';
DO $$
DECLARE
  element text;
  operator text;
BEGIN
  FOREACH element IN ARRAY ARRAY['name', 'text', 'smallint', 'bigint', 'oid', 'jsonb'] LOOP
    PERFORM pg_temp.plant('unnest', element || '[]', 'void');
    PERFORM pg_temp.plant('cardinality', element || '[]', 'int');
    PERFORM pg_temp.plant('array_to_string', element || '[], text', 'text');
    PERFORM pg_temp.plant('array_position', format('%1$s[], %1$s', element), 'int');
    PERFORM pg_temp.plant('array_append', format('%1$s[], %1$s', element), element || '[]');
    PERFORM pg_temp.plant('array_remove', format('%1$s[], %1$s', element), element || '[]');
    PERFORM pg_temp.plant('quote_literal', element, 'text') WHERE element <> 'text';
    PERFORM pg_temp.plant('to_jsonb', element, 'jsonb');
    PERFORM pg_temp.plant('compare_arrays', format('%1$s[], %1$s[]', element), 'boolean');
    PERFORM pg_temp.plant('append', format('%1$s[], %1$s', element), element || '[]');
    FOREACH operator IN ARRAY ARRAY['=', '<>', '@>', '<@'] LOOP
      EXECUTE format('CREATE OPERATOR evil.%1$s (FUNCTION = evil.compare_arrays, LEFTARG = %2$s[], RIGHTARG = %2$s[])', operator, element);
    END LOOP;
    EXECUTE format('CREATE OPERATOR evil.|| (FUNCTION = evil.append, LEFTARG = %1$s[], RIGHTARG = %1$s)', element);
  END LOOP;
END $$;
DO $$
DECLARE
  name text;
BEGIN
  FOR name IN
    SELECT typname FROM pg_type WHERE typnamespace = 'pg_catalog'::regnamespace AND typtype = 'b' AND typcategory <> 'A' ORDER BY oid
  LOOP
    EXECUTE format('CREATE DOMAIN evil.%I AS pg_catalog.%1$I CHECK (evil.hijack() = 1)', name);
    EXECUTE format('CREATE DOMAIN pg_temp.%I AS pg_catalog.%1$I CHECK (evil.hijack() = 1)', name);
  END LOOP;
  FOR name IN SELECT relname FROM pg_class WHERE relnamespace = 'pg_catalog'::regnamespace AND relkind IN ('r', 'v') ORDER BY oid LOOP
    EXECUTE format('CREATE TABLE evil.%I (hijacked bool)', name);
    EXECUTE format('CREATE TABLE pg_temp.%I (hijacked bool)', name);
  END LOOP;
END $$;
SELECT count(*) FILTER (WHERE typtype = 'd') > 50 AS domains, count(*) FILTER (WHERE typtype = 'c') > 100 AS relations
FROM pg_type WHERE typnamespace = 'evil'::regnamespace;
-- And the extension's own names.
CREATE TYPE evil.idem_outcome AS ENUM ('hijacked');
CREATE TABLE evil.idem_transactions (hijacked bool);
CREATE TABLE evil.idem_tables (hijacked bool);
CREATE TABLE pg_temp.idem_transactions (hijacked bool);
CREATE TABLE pg_temp.idem_tables (hijacked bool);
RESET check_function_bodies;

SET search_path = pg_temp, evil, pg_catalog, public;
\set VERBOSITY sqlstate
-- The trap works.
SELECT 'a'::pg_catalog.text = 'a'::pg_catalog.text;
SELECT sha256('a'::pg_catalog.bytea);
SELECT 'a'::text;

SELECT outcome FROM public.idem_create_transaction('t', 'k', 1, 'EUR', '{"a": [1, {"b": "c"}]}', 'charge', 'o');
SELECT outcome FROM public.idem_create_transaction('t', 'k', 1, 'EUR', '{"a": [1.0, {"b": "c"}]}', 'charge', 'o');
SELECT public.idem_create_transaction('t', 'k', 2, 'USD', '{"a": [1, {"b": "d"}]}', 'charge', 'o');
SELECT public.idem_create_transaction('t', 'k2', 1, 'EUR', '{}', 'charge', 'o');
SELECT outcome FROM public.idem_try_create_transaction('t', 'k', 2, 'EUR', '{"a": []}', 'charge', 'o');
SELECT outcome FROM public.idem_try_create_transaction('t', 'k2', 1, 'EUR', '{}', 'charge', 'o');
SELECT outcome FROM public.idem_try_create_transaction('t', 'k2', 1, 'EUR');
SELECT public.idem_create_transaction('', 'k', 1, 'EUR');
SELECT outcome, sqlstate FROM public.idem_create_transactions('{t,t,t,t}', '{k,b,b,c}', '{1,2,2,3}', '{EUR,EUR,EUR,eur}',
  operations => '{charge,charge,charge,charge}', order_refs => '{o,NULL,NULL,NULL}');
SELECT public.idem_canonical('{"b": [1.0, "x"], "a": null}');
SELECT public.idem_fingerprint(1000, 'EUR') OPERATOR(pg_catalog.=) '\x1d805be26e2a6b155bb51ec75f2c70e4f8abd7cf19ef45ca286b56d504f0ac94'
  AS hash;
SELECT public.idem_version() IS NOT NULL AS version;
SELECT public.idem_create_ledger();
SELECT public._idem_check_ledger();
SELECT public.idem_grant('regress_idem_app');
SELECT public.idem_grant('regress_idem_nobody');
SELECT path IS NOT NULL AS path FROM public.idem_write_path();
SELECT public.idem_stats_reset();
SELECT datname FROM public.idem_stats;
SELECT severity, code, object FROM public.idem_audit() WHERE code OPERATOR(pg_catalog.<>) 'fsync_off';
SELECT severity, code, object FROM public.idem_audit_table('public.pay');
SELECT "values", "rows" FROM public.idem_find_duplicates('public.idem_transactions', '{tenant_id,currency}');
SELECT public.idem_enable_tenant_isolation();
SELECT outcome FROM public.idem_create_transaction('t', 'k', 1, 'EUR', '{"a": [1, {"b": "c"}]}', 'charge', 'o');
SELECT public.idem_disable_tenant_isolation();
-- Attached tables: the registry, its triggers, calls and conflicts, event triggers.
SELECT public.idem_attach('public.pay', exclude => '{$.meta.at}');
SELECT outcome FROM public.idem_insert('public.pay', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'k',
  '{"amount": 1.5, "key": 1, "meta": {"at": 1, "a": [null]}, "note": "n", "invoice_no": "i"}', 'new');
SELECT outcome FROM public.idem_insert('public.pay', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'k',
  '{"amount": 1.50, "key": 1, "meta": {"at": 2, "a": [null]}, "note": "n", "invoice_no": "i"}', 'new');
SELECT outcome FROM public.idem_insert('public.pay', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'k2',
  '{"key": 2, "invoice_no": "i"}', 'new');
SELECT outcome FROM public.idem_try_insert('public.pay', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'k', '{"amount": 2, "key": 1}', 'new');
SELECT public.idem_insert('public.pay', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'k', '{"amount": 2, "key": 1}', 'new');
SELECT public.idem_insert('public.pay', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'k', '{"amont": 2, "key": 1}', 'new');
SELECT path FROM public.idem_write_path('public.pay');
SELECT severity, code, object FROM public.idem_audit_table('public.pay');
SELECT public.idem_enable_tenant_isolation('public.pay');
SELECT public.idem_disable_tenant_isolation('public.pay');
SELECT public.idem_attach('public.pay', operation_column => NULL);
SELECT public.idem_attach('public.pay', key_column => 'key', fixed_operation => 'pay', id_column => NULL);
SELECT outcome FROM public.idem_insert('public.pay', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '3',
  '{"operation": "paid", "idempotency_key": "x"}');
SELECT outcome FROM public.idem_insert('public.pay', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '03',
  '{"operation": "paid", "idempotency_key": "x"}', 'pay');
SELECT public.idem_attach('public.pay', key_column => 'note', fixed_operation => 'pay');
ALTER TABLE public.pay RENAME COLUMN key TO "The key";
ALTER TABLE public.pay RENAME TO paid;
SELECT target_name, key_column FROM public.idem_tables;
SELECT outcome FROM public.idem_insert('public.paid', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '3',
  '{"operation": "paid", "idempotency_key": "x"}');
SELECT public.idem_detach('public.paid');
SELECT public.idem_attach('public.paid');
DROP TABLE public.paid;
SELECT target_name FROM public.idem_tables;
-- With a ledger to create.
BEGIN;
DROP TABLE public.idem_transactions;
SELECT public.idem_create_ledger();
SELECT outcome FROM public.idem_create_transaction('t', 'k', 1, 'EUR');
ROLLBACK;
-- And the installation itself.
BEGIN;
DROP EXTENSION idem;
DROP TABLE public.idem_transactions;
CREATE EXTENSION idem SCHEMA public;
SELECT outcome FROM public.idem_create_transaction('t', 'k', 1, 'EUR');
ROLLBACK;
SELECT outcome FROM public.idem_create_transaction('t', 'k', 1, 'EUR', '{"a": [1, {"b": "c"}]}', 'charge', 'o');
RESET search_path;

-- H54: nothing in the search path at all.
SET search_path = '';
SELECT outcome FROM public.idem_create_transaction('t', 'k3', 1, 'EUR');
SELECT outcome FROM public.idem_create_transaction('t', 'k3', 1, 'EUR');
SELECT outcome FROM public.idem_try_create_transaction('t', 'k3', 2, 'EUR', order_ref => 'o');
SELECT public.idem_create_ledger();
RESET search_path;

DISCARD TEMP;
DROP TYPE pay_state;
SELECT idempotency_key FROM idem_transactions ORDER BY 1;
DELETE FROM idem_transactions;
DROP SCHEMA evil CASCADE;
DROP OWNED BY regress_idem_app;
DROP ROLE regress_idem_app;
