-- Which texts may name a request: limits in octets, no blank at either end, no control character, nothing folded.
\set SHOW_CONTEXT never

-- What a call with these texts comes to: created, or the SQLSTATE; nothing is kept.
CREATE FUNCTION pg_temp.answer(tenant_id text, key text, operation text DEFAULT 'charge', order_ref text DEFAULT NULL)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  answer text;
BEGIN
  SELECT outcome INTO answer FROM idem_create_transaction(tenant_id, key, 1, 'EUR', '{}', operation, order_ref);
  RAISE 'undo';
EXCEPTION WHEN OTHERS THEN
  RETURN coalesce(answer, SQLSTATE);
END $$;

-- H15: limits in octets, whatever the text compresses to; a character counts for its octets.
SELECT n, pg_temp.answer(repeat('x', n), 'k') AS tenant_id, pg_temp.answer('t', repeat('x', n)) AS key,
  pg_temp.answer('t', 'k', repeat('x', n)) AS operation, pg_temp.answer('t', 'k', 'o', repeat('x', n)) AS order_ref
FROM unnest(ARRAY[0, 1, 100, 101, 255, 256, 3000, 200000]) n ORDER BY n;
SELECT pg_temp.answer('t', repeat(U&'\00E9', 127) || 'x') AS two_octets_255,
  pg_temp.answer('t', repeat(U&'\00E9', 128)) AS two_octets_256,
  pg_temp.answer('t', repeat(U&'\20AC', 85)) AS three_octets_255,
  pg_temp.answer('t', repeat(U&'\20AC', 85) || 'x') AS three_octets_256,
  pg_temp.answer('t', repeat(U&'\+01F600', 63) || 'xyz') AS four_octets_255,
  pg_temp.answer('t', repeat(U&'\+01F600', 64)) AS four_octets_256;
SELECT pg_temp.answer('t', 'k', repeat(U&'\00E9', 50)) AS operation_100, pg_temp.answer('t', 'k', repeat(U&'\00E9', 50) || 'x')
  AS operation_101;
SELECT pg_temp.answer('t', (SELECT string_agg(md5(n::text), '') FROM generate_series(1, 120) n)) AS incompressible_3840,
  pg_temp.answer('t', (SELECT left(string_agg(md5(n::text), ''), 255) FROM generate_series(1, 8) n)) AS incompressible_255;
-- The longest texts together fit into every index, and are found again.
SELECT outcome FROM (SELECT string_agg(md5(n::text), '' ORDER BY n) AS x FROM generate_series(1, 8) n) long,
  LATERAL idem_create_transaction(left(x, 255), left(x, 255), 1, 'EUR', '{}', left(x, 100), left(x, 255));
SELECT outcome FROM (SELECT string_agg(md5(n::text), '' ORDER BY n) AS x FROM generate_series(1, 8) n) long,
  LATERAL idem_create_transaction(left(x, 255), left(x, 255), 1, 'EUR', '{}', left(x, 100), left(x, 255));
DELETE FROM idem_transactions;
-- The message states the limit, not the value.
SELECT idem_create_transaction(repeat('x', 256), 'k', 1, 'EUR');
SELECT idem_create_transaction('t', repeat('x', 256), 1, 'EUR');
SELECT idem_create_transaction('t', 'k', 1, 'EUR', operation => repeat('x', 101));
SELECT idem_create_transaction('t', 'k', 1, 'EUR', order_ref => repeat('x', 256));

-- H18: empty, blank and padded texts are refused in each place.
SELECT quote_literal(text) AS text, pg_temp.answer(text, 'k') AS tenant_id, pg_temp.answer('t', text) AS key,
  pg_temp.answer('t', 'k', text) AS operation, pg_temp.answer('t', 'k', 'o', text) AS order_ref
FROM unnest(ARRAY['', ' ', '   ', ' k', 'k ', 'a b', 'a  b']) WITH ORDINALITY AS t(text, n) ORDER BY n;
SELECT idem_create_transaction('t', '', 1, 'EUR');
SELECT idem_create_transaction('t', ' k', 1, 'EUR');
SELECT idem_create_transaction('t', 'k ', 1, 'EUR');
SELECT idem_create_transaction('t', E'a\tb', 1, 'EUR');
SELECT idem_create_transaction('t', 'k', 1, 'EUR', order_ref => '');

-- Each control character is refused wherever it stands, each blank at either end; all others are accepted there.
CREATE TEMP TABLE probe AS
  SELECT code, chr(code) AS c,
    code < 32 OR code BETWEEN 127 AND 159 AS control,
    code IN (32, 160, 5760, 8232, 8233, 8239, 8287, 12288) OR code BETWEEN 8192 AND 8202 AS blank
  FROM (SELECT generate_series(1, 256) UNION SELECT generate_series(5750, 5770) UNION SELECT generate_series(6150, 6165)
    UNION SELECT generate_series(8190, 8300) UNION SELECT generate_series(12285, 12295)
    UNION SELECT unnest(ARRAY[55295, 57344, 65279, 65533, 65535, 65536, 128512, 1114109])) codes(code);
SELECT count(*) AS characters, count(*) FILTER (WHERE control) AS controls, count(*) FILTER (WHERE blank) AS blanks
FROM probe;
SELECT code, place, answer
FROM probe, LATERAL (VALUES ('first', c || 'k', control OR blank), ('last', 'k' || c, control OR blank),
  ('inside', 'a' || c || 'b', control), ('alone', c, control OR blank)) AS p(place, text, refused),
  LATERAL (VALUES (pg_temp.answer('t', text)), (pg_temp.answer(text, 'k')), (pg_temp.answer('t', 'k', text)),
    (pg_temp.answer('t', 'k', 'o', text))) AS a(answer)
WHERE answer <> CASE WHEN refused THEN '22023' ELSE 'created' END
ORDER BY code, place;
DROP TABLE probe;

-- H16: keys are compared octet by octet: no normalisation, no folding of case or width, no trimming.
SELECT outcome FROM unnest(ARRAY[U&'caf\00E9', U&'cafe\0301', 'k', 'K', U&'\FF2B', U&'k\200B', 'a b', 'a  b', 'ss', U&'\00DF'])
  AS key, LATERAL idem_create_transaction('t', key, 1, 'EUR', operation => key, order_ref => key);
SELECT count(*), count(DISTINCT idempotency_key) AS keys FROM idem_transactions;
SELECT outcome FROM idem_create_transaction('t', U&'cafe\0301', 1, 'EUR', operation => U&'cafe\0301', order_ref => U&'cafe\0301');
DELETE FROM idem_transactions;

-- The order of the checks: every NULL, then the arguments one by one, and only then what is stored.
SELECT outcome FROM idem_create_transaction('t', 'k', 1, 'EUR', '{}', 'charge', 'o1');
SELECT outcome FROM idem_create_transaction('t', 'k2', 1, 'EUR', '{}', 'charge', 'o2');
SELECT idem_create_transaction(NULL, NULL, NULL, NULL, '[]', NULL, '');
SELECT idem_create_transaction('', NULL, NULL, NULL, '[]', NULL, '');
SELECT idem_create_transaction('', '', NULL, NULL, '[]', NULL, '');
SELECT idem_create_transaction('', '', 0, NULL, '[]', NULL, '');
SELECT idem_create_transaction('', '', 0, '', '[]', NULL, '');
SELECT idem_create_transaction('', '', 0, '', '[]', '', '');
SELECT idem_create_transaction('t', '', 0, '', '[]', '', '');
SELECT idem_create_transaction('t', 'k', 0, '', '[]', '', '');
SELECT idem_create_transaction('t', 'k', 2, '', '[]', '', '');
SELECT idem_create_transaction('t', 'k', 2, 'EUR', '[]', '', '');
SELECT idem_create_transaction('t', 'k', 2, 'EUR', '{}', '', '');
SELECT idem_create_transaction('t', 'k', 2, 'EUR', '{}', 'charge', '');
\set VERBOSITY terse
SELECT idem_create_transaction('t', 'k', 2, 'EUR', '{}', 'charge', 'o2');
SELECT idem_create_transaction('t', 'k3', 2, 'EUR', '{}', 'charge', 'o2');
SELECT outcome FROM idem_create_transaction('t', 'k', 1, 'EUR', '{}', 'charge', 'o1');
DELETE FROM idem_transactions;

-- A malformed request uses up neither key nor order.
\set VERBOSITY sqlstate
BEGIN;
\set ON_ERROR_ROLLBACK on
SELECT idem_create_transaction('t', 'k', 0, 'EUR', '{}', 'charge', 'o1');
SELECT idem_create_transaction('t', 'k', 1, 'eur', '{}', 'charge', 'o1');
SELECT idem_create_transaction('t', 'k', 1, 'EUR', '[]', 'charge', 'o1');
SELECT idem_create_transaction('t', 'k', NULL, 'EUR', '{}', 'charge', 'o1');
SELECT idem_create_transaction('t', 'k', 1, 'EUR', '{}', 'charge', 'o1 ');
SELECT idem_try_create_transaction('t', 'k', 1, 'EUR', '{}', 'charge ', 'o1');
\set ON_ERROR_ROLLBACK off
SELECT count(*) FROM idem_transactions;
SELECT outcome FROM idem_create_transaction('t', 'k', 7, 'SEK', '{"a": 1}', 'charge', 'o1');
COMMIT;
DELETE FROM idem_transactions;
DROP FUNCTION pg_temp.answer;
