-- Attached tables where the schema of the extension, that of the table, and the table have odd names; and where roles change.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
DROP ROLE IF EXISTS regress_idem_app, regress_idem_other;
CREATE FUNCTION pg_temp.tour(schema text) RETURNS TABLE (n int, answer text) LANGUAGE plpgsql AS $$
DECLARE
  home CONSTANT text := format('%I', schema);
  pay CONSTANT text := format('%I.%I', schema || '2', 'Pay''"%s$1');
  step text;
BEGIN
  EXECUTE format('CREATE SCHEMA %I', schema);
  EXECUTE format('CREATE SCHEMA %I', schema || '2');
  EXECUTE format('CREATE EXTENSION idem SCHEMA %I', schema);
  n := 0;
  FOREACH step IN ARRAY ARRAY[
    $q$CREATE TABLE PAY (id bigserial, "te'nant" text NOT NULL, operation text NOT NULL, "k""ey" text NOT NULL, request_hash bytea,
      "a$1%s" int UNIQUE)$q$,
    $q$CREATE UNIQUE INDEX "i'""$1%s" ON PAY ("te'nant", operation, "k""ey")$q$,
    $q$SELECT HOME.idem_attach(TARGET, tenant_column => 'te''nant', key_column => 'k"ey', exclude => ARRAY['$."x''y"'])$q$,
    $q$SELECT outcome FROM HOME.idem_insert(TARGET, 't', 'k', '{"a$1%s": 1}', 'op')$q$,
    $q$SELECT outcome FROM HOME.idem_insert(TARGET, 't', 'k', '{"a$1%s": 1}', 'op')$q$,
    $q$SELECT outcome FROM HOME.idem_insert(TARGET, 't', 'k', '{"a$1%s": 2}', 'op')$q$,
    $q$SELECT outcome FROM HOME.idem_insert(TARGET, 't', 'k2', '{"a$1%s": 1}', 'op')$q$,
    $q$SELECT outcome FROM HOME.idem_try_insert(TARGET, 't', 'k', '{}', 'op')$q$,
    $q$SELECT target_name = TARGET FROM HOME.idem_tables$q$,
    $q$ALTER TABLE PAY RENAME "k""ey" TO "k'ey"$q$,
    $q$SELECT key_column FROM HOME.idem_tables$q$,
    $q$SELECT outcome FROM HOME.idem_insert(TARGET, 't', 'k3', '{}', 'op')$q$,
    $q$DROP INDEX SCHEMA2."i'""$1%s"$q$,
    $q$SELECT outcome FROM HOME.idem_insert(TARGET, 't', 'k3', '{}', 'op')$q$,
    $q$SELECT count(*) || ' rows' FROM PAY$q$,
    $q$DROP TABLE PAY$q$,
    $q$SELECT count(*) || ' registered' FROM HOME.idem_tables$q$]
  LOOP
    n := n + 1;
    answer := NULL;
    step := replace(replace(replace(replace(step, 'HOME', home), 'PAY', pay), 'TARGET', quote_literal(pay)), 'SCHEMA2',
      quote_ident(schema || '2'));
    BEGIN
      IF step LIKE 'SELECT%' THEN
        EXECUTE step INTO answer;
      ELSE
        EXECUTE step;
      END IF;
    EXCEPTION WHEN OTHERS THEN
      GET STACKED DIAGNOSTICS answer = PG_EXCEPTION_DETAIL;
      answer := SQLSTATE || ' ' || answer;
    END;
    RETURN NEXT;
  END LOOP;
  EXECUTE 'DROP EXTENSION idem';
  EXECUTE format('DROP SCHEMA %I, %I CASCADE', schema, schema || '2');
END $$;
BEGIN;
DROP EXTENSION idem;
SELECT n, answer FROM pg_temp.tour('plain') WHERE answer <> '' ORDER BY n;
SELECT name, string_agg(t.answer, ',' ORDER BY t.n) = min(p.answers) AS same
FROM (SELECT string_agg(answer, ',' ORDER BY n) AS answers FROM pg_temp.tour('plain')) p,
  (VALUES ('x''y'), ('x$y'), ('x"y'), ('x y.z%s\'), ('user'), ('$1'), ('ü')) v (name), LATERAL pg_temp.tour(name) t
GROUP BY name ORDER BY name COLLATE "C";
ROLLBACK;
DROP FUNCTION pg_temp.tour;

-- One session, several roles: the rights of a call are those of the role that calls, whoever made the plans.
CREATE ROLE regress_idem_app;
CREATE ROLE regress_idem_other;
CREATE TABLE regress_pay (tenant_id text NOT NULL, operation text NOT NULL, idempotency_key text NOT NULL, request_hash bytea, note text,
  UNIQUE (tenant_id, operation, idempotency_key));
GRANT SELECT, INSERT ON regress_pay TO regress_idem_app;
GRANT SELECT ON regress_pay TO regress_idem_other;
SELECT idem_attach('regress_pay', id_column => NULL);
\set VERBOSITY sqlstate
CREATE FUNCTION pg_temp.call(key text, note text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  RETURN (SELECT outcome FROM public.idem_insert('public.regress_pay', 't', key, jsonb_build_object('note', note), 'op'));
EXCEPTION WHEN OTHERS THEN
  RETURN SQLSTATE;
END $$;
SELECT pg_temp.call('k1', 'x');
SET ROLE regress_idem_app;
SELECT pg_temp.call('k1', 'x'), pg_temp.call('k2', 'x');
SET ROLE regress_idem_other;
SELECT pg_temp.call('k1', 'x'), pg_temp.call('k3', 'x');
RESET ROLE;
SELECT pg_temp.call('k3', 'x');
REVOKE SELECT ON regress_pay FROM regress_idem_app;
SET ROLE regress_idem_app;
SELECT pg_temp.call('k1', 'x'), pg_temp.call('k4', 'x');
RESET ROLE;
-- Rights on columns do: those that the call writes, and those that it reads.
GRANT SELECT ON regress_pay TO regress_idem_app;
REVOKE INSERT ON regress_pay FROM regress_idem_app;
GRANT INSERT (tenant_id, operation, idempotency_key, request_hash) ON regress_pay TO regress_idem_app;
SET ROLE regress_idem_app;
SELECT pg_temp.call('k5', 'x');
SELECT outcome FROM idem_insert('regress_pay', 't', 'k5', '{}', 'op');
SELECT outcome FROM idem_insert('regress_pay', 't', 'k5', '{}', 'op');
RESET ROLE;
-- A function that runs with its owner's rights lends them.
CREATE FUNCTION regress_pay_as_owner(key text) RETURNS text LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT outcome FROM public.idem_insert('public.regress_pay', 't', key, '{"note": "x"}', 'op')
$$;
SET ROLE regress_idem_other;
SELECT regress_pay_as_owner('k6'), regress_pay_as_owner('k6'), pg_temp.call('k6', 'x');
RESET ROLE;
-- A temporary table of the same name is not the table.
CREATE TEMP TABLE regress_pay (LIKE public.regress_pay INCLUDING ALL);
SELECT pg_temp.call('k7', 'x');
SELECT outcome FROM idem_insert('regress_pay', 't', 'k7', '{}', 'op');
SELECT count(*) FROM pg_temp.regress_pay;
SELECT idempotency_key FROM public.regress_pay ORDER BY 1;
DROP TABLE pg_temp.regress_pay;
DROP FUNCTION regress_pay_as_owner;
DROP TABLE regress_pay;
DROP ROLE regress_idem_app, regress_idem_other;
