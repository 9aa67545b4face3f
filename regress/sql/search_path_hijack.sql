-- H61: objects that somebody planted in the search path are not used, whoever calls.
SET client_min_messages = warning;
DROP ROLE IF EXISTS regress_idem_app;
CREATE SCHEMA evil;
CREATE FUNCTION evil.hijack() RETURNS int LANGUAGE plpgsql AS $$
BEGIN
  RAISE 'hijacked';
END $$;

-- Operators on every pair of types that the server knows for =, <>, <, >, ||, and some more.
DO $$
DECLARE
  op record;
BEGIN
  FOR op IN
    SELECT oprname, format_type(oprleft, NULL) AS l, format_type(oprright, NULL) AS r, format_type(oprresult, NULL) AS result
    FROM pg_operator
    WHERE oprnamespace = 'pg_catalog'::regnamespace AND oprkind = 'b'
      AND oprname IN ('=', '<>', '<', '>', '<=', '>=', '||', '->', '->>', '~', '~~', '+', '-')
      AND 'anyrange'::regtype NOT IN (oprleft, oprright)
      AND NOT EXISTS (SELECT FROM pg_type WHERE oid IN (oprleft, oprright, oprresult) AND typtype = 'p')
    ORDER BY oid
  LOOP
    EXECUTE format('CREATE FUNCTION evil.%I(%s, %s) RETURNS %s LANGUAGE plpgsql AS ''BEGIN RAISE ''''hijacked''''; END''',
      'op_' || op.oprname, op.l, op.r, op.result);
    EXECUTE format('CREATE OPERATOR evil.%s (FUNCTION = evil.%I, LEFTARG = %s, RIGHTARG = %s)', op.oprname, 'op_' || op.oprname,
      op.l, op.r);
  END LOOP;
END $$;
SELECT count(*) > 300 AS enough FROM pg_operator WHERE oprnamespace = 'evil'::regnamespace;

-- Functions of the server by their own signatures.
DO $$
DECLARE
  f record;
BEGIN
  FOR f IN
    SELECT proname, pg_get_function_identity_arguments(oid) AS arguments, pg_get_function_result(oid) AS result
    FROM pg_proc
    WHERE pronamespace = 'pg_catalog'::regnamespace AND prokind = 'f' AND provariadic = 0
      AND proname IN ('sha256', 'now', 'octet_length', 'length', 'lower', 'upper', 'to_regclass', 'current_setting', 'set_config',
        'quote_ident', 'quote_literal', 'has_table_privilege', 'has_schema_privilege', 'convert_to', 'encode', 'texteq', 'textne',
        'nameeq', 'oideq', 'int4eq', 'to_regrole', 'to_regnamespace', 'pg_get_userbyid', 'format_type', 'array_length', 'coalesce',
        'pg_get_indexdef', 'clock_timestamp', 'gen_random_uuid', 'uuid_eq', 'byteaeq', 'jsonb_eq', 'jsonb_typeof')
      AND NOT EXISTS (SELECT FROM pg_type WHERE oid IN (SELECT unnest(proargtypes)) AND typtype = 'p')
    ORDER BY oid
  LOOP
    EXECUTE format('CREATE FUNCTION evil.%I(%s) RETURNS %s LANGUAGE plpgsql AS ''BEGIN RAISE ''''hijacked''''; END''', f.proname,
      f.arguments, f.result);
  END LOOP;
END $$;
CREATE FUNCTION evil.format(text, VARIADIC text[]) RETURNS text LANGUAGE sql AS 'SELECT evil.hijack()::text';
CREATE FUNCTION evil.format(text, text) RETURNS text LANGUAGE sql AS 'SELECT evil.hijack()::text';
CREATE FUNCTION evil.format(text, text, name) RETURNS text LANGUAGE sql AS 'SELECT evil.hijack()::text';
CREATE FUNCTION evil.format(text, text, text) RETURNS text LANGUAGE sql AS 'SELECT evil.hijack()::text';
CREATE FUNCTION evil.jsonb_each(jsonb) RETURNS int LANGUAGE sql AS 'SELECT evil.hijack()';
SELECT count(*) > 40 AS enough FROM pg_proc WHERE pronamespace = 'evil'::regnamespace AND proname !~ '^op_';

-- Types and tables with the names that matter.
CREATE DOMAIN evil.text AS pg_catalog.text CHECK (evil.hijack() = 1);
CREATE DOMAIN evil.jsonb AS pg_catalog.jsonb CHECK (evil.hijack() = 1);
CREATE DOMAIN evil.bytea AS pg_catalog.bytea CHECK (evil.hijack() = 1);
CREATE DOMAIN evil.uuid AS pg_catalog.uuid CHECK (evil.hijack() = 1);
CREATE DOMAIN evil.regclass AS pg_catalog.regclass CHECK (evil.hijack() = 1);
CREATE TYPE evil.idem_outcome AS ENUM ('hijacked');
CREATE TABLE evil.idem_transactions (hijacked pg_catalog.bool);
CREATE TABLE evil.pg_extension (hijacked pg_catalog.bool);
CREATE TABLE evil.pg_class (hijacked pg_catalog.bool);
CREATE TABLE evil.pg_proc (hijacked pg_catalog.bool);
CREATE TABLE evil.pg_roles (hijacked pg_catalog.bool);
CREATE TEMP TABLE idem_transactions (hijacked pg_catalog.bool);
CREATE TEMP TABLE pg_extension (hijacked pg_catalog.bool);
CREATE TEMP TABLE pg_proc (hijacked pg_catalog.bool);
CREATE DOMAIN pg_temp.name AS pg_catalog.name CHECK (evil.hijack() OPERATOR(pg_catalog.=) 1);
CREATE ROLE regress_idem_app;
CREATE TYPE public.pay_state AS ENUM ('new', 'paid');
CREATE TABLE public.pay (id bigserial PRIMARY KEY, tenant_id uuid NOT NULL, operation public.pay_state NOT NULL, key bigint NOT NULL,
  idempotency_key text NOT NULL, request_hash bytea, amount numeric(10,2) CHECK (amount > 0), meta jsonb, note varchar(5),
  invoice_no text UNIQUE, at timestamptz DEFAULT now(), UNIQUE (tenant_id, operation, idempotency_key), UNIQUE (tenant_id, key));

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
SELECT public.idem_canonical('{"b": [1.0, "x"], "a": null}');
SELECT public.idem_fingerprint(1000, 'EUR') OPERATOR(pg_catalog.=) '\x1d805be26e2a6b155bb51ec75f2c70e4f8abd7cf19ef45ca286b56d504f0ac94'
  AS hash;
SELECT public.idem_version() IS NOT NULL AS version;
SELECT public.idem_create_ledger();
SELECT public._idem_check_ledger();
SELECT public.idem_grant('regress_idem_app');
SELECT public.idem_grant('regress_idem_nobody');
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

DROP TABLE pg_temp.idem_transactions, pg_temp.pg_extension, pg_temp.pg_proc;
DROP DOMAIN pg_temp.name;
DROP TYPE pay_state;
SELECT idempotency_key FROM idem_transactions ORDER BY 1;
DELETE FROM idem_transactions;
DROP SCHEMA evil CASCADE;
DROP OWNED BY regress_idem_app;
DROP ROLE regress_idem_app;
