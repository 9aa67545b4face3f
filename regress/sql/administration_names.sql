-- Every function of the administration works in a schema of any name, whatever quotes, dollars, backslashes and percent
-- signs are in it, and whatever the session's settings make of literals.
\set SHOW_CONTEXT never
SET client_min_messages = error;
DROP ROLE IF EXISTS regress_idem_app;
CREATE ROLE regress_idem_app;

-- The answers of all of them; the name of the schema is HOME there.
CREATE FUNCTION pg_temp.tour(schema text) RETURNS TABLE (n int, answer text) LANGUAGE plpgsql AS $$
DECLARE
  home CONSTANT text := quote_ident(schema);
  step text;
BEGIN
  EXECUTE 'CREATE SCHEMA ' || home;
  EXECUTE 'CREATE EXTENSION idem SCHEMA ' || home;
  n := 0;
  FOREACH step IN ARRAY ARRAY[
    $q$SELECT HOME.idem_version() IS NOT NULL$q$,
    $q$SELECT HOME.idem_create_ledger()$q$,
    $q$SELECT HOME.idem_grant('regress_idem_app')$q$,
    $q$SELECT outcome FROM HOME.idem_create_transaction('t', 'k', 1, 'EUR')$q$,
    $q$SELECT string_agg(outcome::text, ' ') FROM HOME.idem_create_transactions('{t,t}', '{k,k2}', '{1,2}', '{EUR,EUR}')$q$,
    $q$SELECT path IS NOT NULL FROM HOME.idem_write_path()$q$,
    $q$CREATE TABLE HOME.pay (id int, tenant_id text NOT NULL, operation text NOT NULL, idempotency_key text NOT NULL, request_hash bytea,
      UNIQUE (tenant_id, operation, idempotency_key))$q$,
    $q$CREATE TABLE HOME.plain (tenant_id text, idempotency_key text)$q$,
    $q$INSERT INTO HOME.plain VALUES ('t', 'k'), ('t', 'k')$q$,
    $q$SELECT HOME.idem_attach('HOME.pay')$q$,
    $q$SELECT outcome || ' ' || "row" FROM HOME.idem_insert('HOME.pay', 't', 'k', '{"id": 1}', 'o')$q$,
    $q$SELECT path FROM HOME.idem_write_path('HOME.pay')$q$,
    $q$SELECT string_agg(concat_ws(' | ', code, object, finding, hint), E'\n') FROM HOME.idem_audit() WHERE code <> 'fsync_off'$q$,
    $q$SELECT string_agg(concat_ws(' | ', code, object, finding, hint), E'\n') FROM HOME.idem_audit_table('HOME.plain')$q$,
    $q$SELECT concat_ws(' ', "values", "rows", ids) FROM HOME.idem_find_duplicates('HOME.plain', '{tenant_id,idempotency_key}')$q$,
    $q$SELECT HOME.idem_enable_tenant_isolation()$q$,
    $q$SELECT HOME.idem_enable_tenant_isolation('HOME.pay')$q$,
    $q$SELECT string_agg(polrelid::regclass || ' ' || pg_get_expr(polqual, polrelid), E'\n' ORDER BY polrelid, polname) FROM pg_policy
      WHERE polrelid IN ('HOME.pay'::regclass, 'HOME.idem_transactions'::regclass)$q$,
    $q$SELECT HOME.idem_disable_tenant_isolation('HOME.pay')$q$,
    $q$SELECT HOME.idem_disable_tenant_isolation()$q$,
    $q$SELECT count(*) FROM pg_policy WHERE polname LIKE 'idem\_tenant%'$q$,
    $q$ALTER TABLE HOME.pay RENAME TO paid$q$,
    $q$SELECT target_name FROM HOME.idem_tables$q$,
    $q$SELECT HOME.idem_detach('HOME.paid')$q$,
    $q$SELECT HOME.idem_attach('HOME.paid')$q$,
    $q$DROP TABLE HOME.paid$q$,
    $q$SELECT count(*) FROM HOME.idem_tables$q$,
    $q$SELECT count(*) FROM HOME.idem_stats$q$,
    $q$SELECT HOME.idem_stats_reset()$q$,
    $q$DROP TABLE HOME.idem_transactions$q$,
    $q$SELECT string_agg(hint, E'\n') FROM HOME.idem_audit() WHERE code = 'ledger_missing'$q$,
    $q$SELECT HOME.idem_create_transaction('t', 'k', 1, 'EUR')$q$,
    $q$SELECT HOME.idem_create_ledger()$q$]
  LOOP
    n := n + 1;
    answer := NULL;
    step := replace(replace(step, '''HOME', 'E''' || replace(replace(home, '\', '\\'), '''', '''''')), 'HOME', home);
    BEGIN
      IF step LIKE 'SELECT%' THEN
        EXECUTE step INTO answer;
      ELSE
        EXECUTE step;
      END IF;
    EXCEPTION WHEN OTHERS THEN
      GET STACKED DIAGNOSTICS answer = PG_EXCEPTION_HINT;
      answer := concat_ws(' / ', SQLSTATE, SQLERRM, answer);
    END;
    answer := replace(replace(answer, quote_literal(home), '''HOME'''), home, 'HOME');
    answer := replace(replace(answer, replace(home, '''', ''''''), 'HOME'), ' E''HOME', '''HOME');
    RETURN NEXT;
  END LOOP;
  EXECUTE 'DROP EXTENSION idem';
  EXECUTE format('DROP SCHEMA %s CASCADE', home);
END $$;

BEGIN;
DROP EXTENSION idem;
CREATE TEMP TABLE plain AS SELECT * FROM pg_temp.tour('home_schema');
SELECT * FROM plain WHERE answer <> '' ORDER BY n;
CREATE FUNCTION pg_temp.others(schema text) RETURNS text LANGUAGE sql AS $$
  SELECT coalesce(string_agg(format('%s: %s', t.n, t.answer), E'\n' ORDER BY t.n), 'the same')
  FROM pg_temp.tour(schema) AS t JOIN plain AS p USING (n) WHERE t.answer IS DISTINCT FROM p.answer
$$;
CREATE TEMP TABLE names AS SELECT * FROM unnest(ARRAY[
  'x''y', 'x$y', 'x"y', '$$ $sql$ $ddl$', 'x''''y\"', '%I%L%1$s', 'a.b; --', E'x\ny /*']) WITH ORDINALITY AS u (name, place);
SELECT name, pg_temp.others(name) FROM names ORDER BY place;
-- With settings that change what literals and names look like.
SET LOCAL standard_conforming_strings = off;
SET LOCAL escape_string_warning = off;
SET LOCAL backslash_quote = on;
SET LOCAL transform_null_equals = on;
SET LOCAL array_nulls = off;
SELECT name, pg_temp.others(name) FROM names WHERE name ~ '^x..y.|sql' ORDER BY place;
ROLLBACK;
DROP FUNCTION pg_temp.tour;
DROP OWNED BY regress_idem_app;
DROP ROLE regress_idem_app;
