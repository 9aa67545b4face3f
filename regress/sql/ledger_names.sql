-- The schema of the extension may have any name.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
DROP ROLE IF EXISTS regress_idem_app;
CREATE ROLE regress_idem_app;

CREATE FUNCTION pg_temp.tour(schema text) RETURNS TABLE (n int, answer text) LANGUAGE plpgsql AS $$
DECLARE
  home CONSTANT text := format('%I', schema);
  step text;
BEGIN
  EXECUTE 'CREATE SCHEMA ' || home;
  EXECUTE 'CREATE EXTENSION idem SCHEMA ' || home;
  n := 0;
  FOREACH step IN ARRAY ARRAY[
    $q$SELECT outcome FROM %s.idem_create_transaction('t', 'k', 1, 'EUR', '{"a": 1}', order_ref => 'o')$q$,
    $q$SELECT outcome FROM %s.idem_create_transaction('t', 'k', 1, 'EUR', '{"a": 1}', order_ref => 'o')$q$,
    $q$SELECT outcome FROM %s.idem_create_transaction('t', 'k', 1, 'EUR', '{"a": 2}', order_ref => 'o')$q$,
    $q$SELECT outcome FROM %s.idem_try_create_transaction('t', 'k2', 1, 'EUR', order_ref => 'o')$q$,
    $q$SELECT outcome FROM %s.idem_create_transaction('t', 'k3', 1, 'EUR')$q$,
    $q$SELECT %s.idem_create_ledger()$q$,
    $q$SELECT %s.idem_grant('regress_idem_app')$q$,
    $q$SELECT has_table_privilege('regress_idem_app', '%s.idem_transactions', 'INSERT')$q$,
    $q$SELECT count(*) || ' members' FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = '%s.idem_transactions'::regclass
      AND refclassid = 'pg_extension'::regclass$q$,
    $q$SELECT count(*) || ' rows' FROM %s.idem_transactions$q$]
  LOOP
    n := n + 1;
    BEGIN
      EXECUTE format(step, CASE WHEN step ~ '''%s' THEN replace(home, '''', '''''') ELSE home END) INTO answer;
    EXCEPTION WHEN OTHERS THEN
      GET STACKED DIAGNOSTICS answer = PG_EXCEPTION_DETAIL;
      answer := SQLSTATE || ' ' || answer;
    END;
    RETURN NEXT;
  END LOOP;
  EXECUTE 'DROP EXTENSION idem';
  EXECUTE format('CREATE EXTENSION idem SCHEMA %s', home);
  EXECUTE format('SELECT outcome FROM %s.idem_create_transaction(''t'', ''k3'', 1, ''EUR'')', home) INTO answer;
  n := n + 1;
  RETURN NEXT;
  EXECUTE format('DROP TABLE %s.idem_transactions', home);
  BEGIN
    EXECUTE format('SELECT %s.idem_create_transaction(''t'', ''k'', 1, ''EUR'')', home);
  EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS answer = PG_EXCEPTION_HINT;
    answer := concat_ws(' / ', SQLSTATE, SQLERRM, answer);
  END;
  n := n + 1;
  RETURN NEXT;
  EXECUTE 'DROP EXTENSION idem';
  EXECUTE format('DROP SCHEMA %s CASCADE', home);
END $$;

BEGIN;
DROP EXTENSION idem;
SELECT n, answer FROM pg_temp.tour('plain') ORDER BY n;
SELECT answer FROM pg_temp.tour('Select') WHERE n > 5 ORDER BY n;
SELECT answer FROM pg_temp.tour('x''y') WHERE n > 5 ORDER BY n;
SELECT answer FROM pg_temp.tour('x$y') WHERE n > 5 ORDER BY n;
SELECT answer FROM pg_temp.tour('x"y') WHERE n > 5 ORDER BY n;
SELECT answer FROM pg_temp.tour('x y.z%s\') WHERE n > 5 ORDER BY n;
SELECT answer FROM pg_temp.tour('user') WHERE n > 5 ORDER BY n;
SELECT answer = replace(plain, 'plain', long) AS same FROM (SELECT repeat('x', 63) AS long) l, LATERAL (
  SELECT string_agg(answer, ' ' ORDER BY n) AS answer FROM pg_temp.tour(long)) a, LATERAL (
  SELECT string_agg(t.answer, ' ' ORDER BY n) AS plain FROM pg_temp.tour('plain') t) p;
SELECT count(*) FILTER (WHERE x.answer IS DISTINCT FROM p.answer) AS other_answers
FROM pg_temp.tour('plain') p JOIN pg_temp.tour('Select') x USING (n) WHERE n <= 5;
ROLLBACK;
DROP FUNCTION pg_temp.tour;

SELECT outcome FROM idem_create_transaction('t', 'k', 1, 'EUR');
DELETE FROM idem_transactions;
DROP ROLE regress_idem_app;
