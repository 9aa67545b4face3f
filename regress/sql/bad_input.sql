-- Whatever a caller sends: a refusal with the right SQLSTATE, and the session and the server go on.
\set VERBOSITY sqlstate
\set SHOW_CONTEXT never
SELECT pg_postmaster_start_time() AS server_start, pg_backend_pid() AS pid \gset

-- NULL where a value is needed.
SELECT idem_create_transaction(NULL, 'k', 1, 'EUR');
SELECT idem_create_transaction('t', NULL, 1, 'EUR');
SELECT idem_create_transaction('t', 'k', NULL, 'EUR');
SELECT idem_create_transaction('t', 'k', 1, NULL);
SELECT idem_create_transaction('t', 'k', 1, 'EUR', '{}', NULL);
SELECT idem_try_create_transaction(NULL, 'k', 1, 'EUR');
SELECT idem_try_create_transaction('t', NULL, 1, 'EUR');
SELECT idem_try_create_transaction('t', 'k', NULL, 'EUR');
SELECT idem_try_create_transaction('t', 'k', 1, NULL);
SELECT idem_try_create_transaction('t', 'k', 1, 'EUR', '{}', NULL);
SELECT idem_fingerprint(NULL, 'EUR');
SELECT idem_fingerprint(1, NULL);
SELECT idem_fingerprint(1, 'EUR', '{}', NULL);
SELECT idem_canonical(NULL) IS NULL AS strict;

-- H29: currencies are three letters A-Z, amounts above zero.
CREATE FUNCTION pg_temp.answers(amount_minor bigint, currency text, details jsonb) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
  call text;
  answers text[];
BEGIN
  FOREACH call IN ARRAY ARRAY['idem_create_transaction($4, $4, $1, $2, $3)', 'idem_try_create_transaction($4, $4, $1, $2, $3)',
    'idem_fingerprint($1, $2, $3)']
  LOOP
    BEGIN
      EXECUTE 'SELECT ' || call USING amount_minor, currency, details, 'k';
      answers := answers || 'accepted'::text;
    EXCEPTION WHEN OTHERS THEN
      answers := answers || SQLSTATE;
    END;
  END LOOP;
  DELETE FROM idem_transactions;
  RETURN answers;
END $$;
SELECT c, pg_temp.answers(1, c, '{}') FROM unnest(ARRAY['EUR', 'JPY', 'XXX', 'eur', 'Eur', 'EU', 'EURO', '', ' ', 'E R', 'EUR ',
  ' EUR', 'EU1', 'EU_', 'EU@', 'EU[', 'E']) WITH ORDINALITY AS u(c, n) ORDER BY n;
SELECT pg_temp.answers(1, U&'E\00DC', '{}') AS two_octets, pg_temp.answers(1, U&'EU\0154', '{}') AS letter_beyond,
  pg_temp.answers(1, U&'\FF25\FF35\FF32', '{}') AS wide, pg_temp.answers(1, repeat('EUR', 100000), '{}') AS long;
SELECT a, pg_temp.answers(a, 'EUR', '{}') FROM unnest(ARRAY[1, 0, -1, 9223372036854775807, -9223372036854775808])
  WITH ORDINALITY AS u(a, n) ORDER BY n;
SELECT idem_create_transaction('t', 'k', '9223372036854775808', 'EUR');
SELECT idem_create_transaction('t', 'k', '1.5', 'EUR');
SELECT outcome, amount_minor FROM idem_create_transaction('t', 'k', 10000, 'JPY');
SELECT idem_create_transaction('t', 'k', 1000000, 'JPY');
SELECT outcome, amount_minor FROM idem_create_transaction('t', 'max', 9223372036854775807, 'JPY');
SELECT outcome, amount_minor FROM idem_create_transaction('t', 'max', 9223372036854775807, 'JPY');
DELETE FROM idem_transactions;

-- details is an object, and nothing else.
SELECT d, pg_temp.answers(1, 'EUR', d::jsonb) FROM unnest(ARRAY['{}', '[]', '[{}]', '1', '"{}"', 'null', 'true'])
  WITH ORDINALITY AS u(d, n) ORDER BY n;
SELECT idem_create_transaction('t', 'k', 1, 'EUR', '');
SELECT idem_create_transaction('t', 'k', 1, 'EUR', '{"a": NaN}');
SELECT idem_create_transaction('t', 'k', 1, 'EUR', '{"a": 1e131072}');
SELECT idem_create_transaction('t', 'k', 1, 'EUR', '{"a": "\u0000"}');
SELECT idem_fingerprint(1, 'EUR', '{}', '');
SELECT idem_fingerprint(1, 'EUR', '{}', 'charge', ' o');
SELECT idem_fingerprint(1, 'EUR', '{}', repeat('x', 101));

-- H31: half a surrogate pair is refused for good; an escaped pair is the character.
SELECT idem_create_transaction('t', 'k', 1, 'EUR', '{"a": "\ud83d"}');
SELECT idem_create_transaction('t', 'k', 1, 'EUR', '{"a": "\udc00"}');
SELECT outcome FROM idem_create_transaction('t', 'k', 1, 'EUR', '{"a": "\ud83d\ude00"}');
SELECT outcome FROM idem_create_transaction('t', 'k', 1, 'EUR', jsonb_build_object('a', U&'\+01F600'));
DELETE FROM idem_transactions;

-- H32: octets that are no text of the database, and the connection is usable at once.
SELECT idem_create_transaction('t', E'\xED\xA0\xBD', 1, 'EUR');
SELECT idem_create_transaction('t', E'\xFF', 1, 'EUR');
SELECT idem_create_transaction('t', E'a\x00b', 1, 'EUR');
SELECT idem_create_transaction('t', convert_from('\xC3', 'UTF8'), 1, 'EUR');
SELECT idem_create_transaction('t', 'a' || chr(0), 1, 'EUR');
SELECT outcome FROM idem_create_transaction('t', 'a', 1, 'EUR');
DELETE FROM idem_transactions;

-- H27: nesting is refused where the stack ends, by the parser of the server or by the call.
SET max_stack_depth = '2MB';
SELECT idem_create_transaction('t', 'k', 1, 'EUR', ('{"a":' || repeat('[', 20000) || repeat(']', 20000) || '}')::jsonb);
CREATE FUNCTION pg_temp.nested(call text, depth int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE 'SELECT ' || call USING '{"a":' || repeat('[', depth) || repeat(']', depth) || '}';
  RETURN 'accepted or 54001';
EXCEPTION WHEN OTHERS THEN
  RETURN CASE SQLSTATE WHEN '54001' THEN 'accepted or 54001' ELSE SQLSTATE END;
END $$;
SELECT call, pg_temp.nested(call, 6000) FROM unnest(ARRAY['idem_canonical($1::jsonb)', 'idem_fingerprint(1, ''EUR'', $1::jsonb)',
  'idem_create_transaction(''t'', ''k'', 1, ''EUR'', $1::jsonb)']) AS u(call) ORDER BY call COLLATE "C";
SELECT pg_temp.nested('idem_create_transaction(''t'', ''shallow'', 1, ''EUR'', $1::jsonb)', 1000);
DELETE FROM idem_transactions;
CREATE TABLE deep AS SELECT ('{"a":' || repeat('[', 2000) || repeat(']', 2000) || '}')::jsonb AS arrays,
  (repeat('{"a":', 2000) || '1' || repeat('}', 2000))::jsonb AS objects;
SELECT outcome FROM deep, LATERAL idem_create_transaction('t', 'arrays', 1, 'EUR', arrays);
SELECT outcome FROM deep, LATERAL idem_create_transaction('t', 'arrays', 1, 'EUR', arrays);
SELECT outcome FROM deep, LATERAL idem_create_transaction('t', 'objects', 1, 'EUR', objects);
SELECT idem_create_transaction('t', 'objects', 1, 'EUR', (replace(objects::text, '1', '2'))::jsonb) FROM deep;
SET max_stack_depth = '100kB';
SELECT idem_create_transaction('t', 'arrays', 1, 'EUR', arrays) FROM deep;
SELECT idem_create_transaction('t', 'new', 1, 'EUR', objects) FROM deep;
SELECT idem_canonical(arrays) FROM deep;
SELECT idem_fingerprint(1, 'EUR', objects) FROM deep;
\set VERBOSITY default
SELECT idem_canonical(arrays) FROM deep;
\set VERBOSITY sqlstate
RESET max_stack_depth;
SELECT idempotency_key FROM idem_transactions ORDER BY idempotency_key;
DROP TABLE deep;
DROP FUNCTION pg_temp.nested;
DELETE FROM idem_transactions;

-- READ ONLY is refused before anything else, NULL and malformed arguments included; the pure functions work.
BEGIN READ ONLY;
\set ON_ERROR_ROLLBACK on
SELECT idem_create_transaction('t', 'k', 1, 'EUR');
SELECT idem_create_transaction(NULL, NULL, NULL, NULL, NULL, NULL, NULL);
SELECT idem_create_transaction('', '', 0, '', '[]', '', '');
SELECT idem_try_create_transaction(NULL, 'k', 1, 'EUR');
SELECT idem_canonical('{"b": 1, "a": 2}'), length(idem_fingerprint(1, 'EUR'));
\set VERBOSITY default
SELECT idem_create_transaction('t', 'k', 1, 'EUR');
SELECT idem_try_create_transaction('t', 'k', 1, 'EUR');
\set VERBOSITY sqlstate
\set ON_ERROR_ROLLBACK off
ROLLBACK;
-- A replay too: the call decides by writing.
SELECT outcome FROM idem_create_transaction('t', 'k', 1, 'EUR');
BEGIN READ ONLY;
SELECT idem_create_transaction('t', 'k', 1, 'EUR');
ROLLBACK;
DELETE FROM idem_transactions;

-- The server was not restarted, and this is still the session from the start.
SELECT pg_postmaster_start_time() = :'server_start' AS same_server, pg_backend_pid() = :pid AS same_session;
SELECT count(*) FROM idem_transactions;
DROP FUNCTION pg_temp.answers;
