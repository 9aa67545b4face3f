-- A key that comes back with another request is refused with ID001; what differs is named, no value is shown.
\set SHOW_CONTEXT never

-- H30: each changed argument is a conflict that names it; another operation is another scope.
SELECT outcome FROM idem_create_transaction('t1', 'k1', 1000, 'EUR', '{"a": 1}', 'charge', 'o1');
SELECT * FROM idem_create_transaction('t1', 'k1', 1001, 'EUR', '{"a": 1}', 'charge', 'o1');
SELECT * FROM idem_create_transaction('t1', 'k1', 1000, 'USD', '{"a": 1}', 'charge', 'o1');
SELECT * FROM idem_create_transaction('t1', 'k1', 1000, 'EUR', '{"a": 2}', 'charge', 'o1');
SELECT * FROM idem_create_transaction('t1', 'k1', 1000, 'EUR', '{"a": 1}', 'charge', 'o2');
SELECT * FROM idem_create_transaction('t1', 'k1', 1000, 'EUR', '{"a": 1}', 'charge');
SELECT * FROM idem_create_transaction('t1', 'k1', 1, 'USD', '{}', 'charge');
\set VERBOSITY sqlstate
SELECT * FROM idem_create_transaction('t1', 'k1', 1001, 'EUR', '{"a": 1}', 'charge', 'o1');
\set VERBOSITY default
SELECT outcome FROM idem_create_transaction('t1', 'k1', 1000, 'EUR', '{"a": 1}', 'refund', 'o1');

-- The outcome of the other call: conflict, all other columns NULL, and the transaction goes on.
BEGIN;
SELECT * FROM idem_try_create_transaction('t1', 'k1', 1001, 'EUR', '{"a": 1}', 'charge', 'o1');
SELECT * FROM idem_try_create_transaction('t1', 'k1', 1000, 'EUR', '{"a": 1, "b": null}', 'charge', 'o1');
SELECT outcome FROM idem_try_create_transaction('t1', 'k1', 1000, 'EUR', '{"a": 1}', 'charge', 'o1');
COMMIT;

-- Nothing has changed by that.
SELECT operation, amount_minor, currency, details, order_ref FROM idem_transactions ORDER BY operation;
DELETE FROM idem_transactions;

-- The places inside details, as SQL/JSON paths.
CREATE FUNCTION pg_temp.report(stored jsonb, sent jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  detail text;
BEGIN
  PERFORM idem_create_transaction('t1', 'k1', 1000, 'EUR', stored);
  PERFORM idem_create_transaction('t1', 'k1', 1000, 'EUR', sent);
  DELETE FROM idem_transactions;
  RETURN 'no conflict';
EXCEPTION WHEN SQLSTATE 'ID001' THEN
  GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
  RETURN detail;
END $$;
SELECT pg_temp.report('{"a": {"b": {"c": 1}}}', '{"a": {"b": {"c": 2}}}') AS nested;
SELECT pg_temp.report('{"a": [1, 2, {"b": [true]}]}', '{"a": [1, 2, {"b": [false]}]}') AS inside_arrays;
SELECT pg_temp.report('{"a": [1, 2, 3]}', '{"a": [1, 2]}') AS shorter_array,
  pg_temp.report('{"a": []}', '{"a": [1, 2]}') AS longer_array;
SELECT pg_temp.report('{"a": 1, "b": 2}', '{"a": 1}') AS missing_member,
  pg_temp.report('{}', '{"x": null}') AS further_member;
SELECT pg_temp.report('{"a": {}}', '{"a": []}') AS other_kind, pg_temp.report('{"a": 1}', '{"a": "1"}') AS quoted_number,
  pg_temp.report('{"a": null}', '{"a": false}') AS null_or_false;
SELECT pg_temp.report('{"a": {"x": 1}}', '{"a": "x"}') AS whole_value;
SELECT pg_temp.report('{"a": 1, "b": 2, "c": 3}', '{"a": 0, "b": 0, "c": 0}') AS three;
SELECT pg_temp.report('{"a": 1, "b": 2, "c": 3, "d": 4}', '{"a": 0, "b": 0, "c": 0, "d": 0}') AS four;
SELECT pg_temp.report('{"x": [1, 2, 3, 4, 5]}', '{"x": [0, 0, 0, 0, 0]}') AS many_elements;
SELECT pg_temp.report('{"a b": 1, "1": 1, "": 1}', '{}') AS odd_names,
  pg_temp.report('{"a.b": 1, "x\"y": 1, "$": 1}', '{}') AS quoted_names,
  pg_temp.report('{"a\nERROR:  forged": 1, "\u001f": 1, "\\": 1}', '{}') AS escaped_names;
SELECT pg_temp.report('{"gr\u00fc\u00df": 1}', '{}') = U&'The stored request differs in details ($."gr\00FC\00DF").' AS umlauts;
SELECT pg_temp.report('{"_a1": 1, "\u20ac": 1, "\ufb00": 1, "\ud83d\ude00": 1}', '{}')
  = U&'The stored request differs in details ($._a1, $."\20AC", $."\+01F600", ...).' AS in_order_of_utf16;
SELECT pg_temp.report('{"a": 1.0, "b": {"y": 1, "x": [1e2]}}', '{"b": {"x": [100], "y": 1.00}, "a": 1}') AS equal_numbers;
SELECT pg_temp.report('{"n": 9007199254740992}', '{"n": 9007199254740993}') AS beyond_doubles;
-- A long path is cut, between characters.
SELECT pg_temp.report(jsonb_build_object(repeat('x', 400), 1), '{}') LIKE '%xxx...).' AS cut,
  length(pg_temp.report(jsonb_build_object(repeat('x', 400), 1), '{}')) < 250 AS short,
  length(pg_temp.report(jsonb_build_object(repeat(U&'\20AC', 400), 1), '{}')) < 120 AS between_characters;
DROP FUNCTION pg_temp.report;

-- No message, detail or hint shows a stored or a sent value, a key or a tenant.
CREATE FUNCTION pg_temp.shown(call text) RETURNS TABLE (code text, shows_a_value bool) LANGUAGE plpgsql AS $$
DECLARE
  message text;
  detail text;
  hint text;
BEGIN
  EXECUTE call;
  RETURN QUERY SELECT 'none', false;
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
  RETURN QUERY SELECT SQLSTATE::text, concat(message, detail, hint) ~ 'secret|4242|GBP|SEK';
END $$;
SELECT outcome FROM idem_create_transaction('secret-t', 'secret-k', 424242, 'GBP', '{"card": "secret-1", "n": [424243]}',
  'secret-op', 'secret-order');
SELECT c, f.* FROM unnest(ARRAY[
  $$SELECT idem_create_transaction('secret-t', 'secret-k', 424244, 'SEK', '{"card": "secret-2", "n": [424245]}', 'secret-op')$$,
  $$SELECT idem_create_transaction('secret-t', 'secret-k', 424242, 'GBP', '{"card": ["secret-2"]}', 'secret-op', 'secret-2')$$,
  $$SELECT idem_create_transaction('secret-t', 'secret-k2', 424242, 'GBP', '{}', 'secret-op', 'secret-order')$$,
  $$SELECT idem_create_transaction(' secret-t', 'secret-k', 424242, 'GBP')$$,
  $$SELECT idem_create_transaction('secret-t', 'secret-k' || repeat('x', 255), 424242, 'GBP')$$,
  $$SELECT idem_create_transaction('secret-t', 'secret-k', -424242, 'GBP')$$,
  $$SELECT idem_create_transaction('secret-t', 'secret-k', 424242, 'secret')$$,
  $$SELECT idem_create_transaction('secret-t', 'secret-k', 424242, 'GBP', '["secret"]')$$
  ]) WITH ORDINALITY AS call(c, n), LATERAL pg_temp.shown(c) f ORDER BY n;

-- A stored hash that is not that of the stored values is a conflict, and said to be that.
UPDATE idem_transactions SET request_hash = sha256('else');
SELECT * FROM idem_create_transaction('secret-t', 'secret-k', 424242, 'GBP', '{"card": "secret-1", "n": [424243]}',
  'secret-op', 'secret-order');
SELECT * FROM idem_try_create_transaction('secret-t', 'secret-k', 424242, 'GBP',
  '{"card": "secret-1", "n": [424243]}', 'secret-op', 'secret-order');
-- A hash of a version that this library does not know is not compared.
UPDATE idem_transactions SET hash_version = 2;
SELECT * FROM idem_create_transaction('secret-t', 'secret-k', 424242, 'GBP', '{"card": "secret-1", "n": [424243]}',
  'secret-op', 'secret-order');
\set VERBOSITY sqlstate
SELECT * FROM idem_try_create_transaction('secret-t', 'secret-k', 1, 'GBP', '{}', 'secret-op', 'secret-order');
\set VERBOSITY default
DROP FUNCTION pg_temp.shown;
DELETE FROM idem_transactions;
