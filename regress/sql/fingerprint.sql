-- What makes two requests the same: the fingerprint and the canonical form behind it.

-- One key, and these details one after the other.
CREATE FUNCTION pg_temp.outcomes(VARIADIC sent text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  outcomes text;
BEGIN
  SELECT string_agg(outcome::text, ' ' ORDER BY n) INTO outcomes FROM unnest(sent) WITH ORDINALITY AS s(d, n),
    LATERAL idem_try_create_transaction('t1', 'k1', 1000, 'EUR', d::jsonb);
  DELETE FROM idem_transactions;
  RETURN outcomes;
END $$;

-- H20: order of members and white space carry no meaning.
SELECT pg_temp.outcomes('{"a":1,"b":2}', '{"b":2,"a":1}', E'{ "b" : 2,\n"a":1 }', '{"a":1}');
-- H21: numbers are compared by value.
SELECT pg_temp.outcomes('{"v":1}', '{"v":1.0}', '{"v":1.00}', '{"v":1e0}', '{"v":10e-1}', '{"v":"1"}', '{"v":1.01}');
-- H22: every digit counts.
SELECT pg_temp.outcomes('{"n":9007199254740992}', '{"n":9007199254740993}', '{"n":9007199254740992.0}');
SELECT pg_temp.outcomes('{"n":0.1}', '{"n":0.10000000000000001}', '{"n":0.10}');
SELECT outcome FROM idem_try_create_transaction('t1', 'k2', 9007199254740992, 'EUR');
SELECT outcome FROM idem_try_create_transaction('t1', 'k2', 9007199254740993, 'EUR');
SELECT outcome FROM idem_create_transaction('t1', 'k3', 1, 'EUR', '{"n":9007199254740993, "m": 1.10}');
SELECT amount_minor, details FROM idem_transactions ORDER BY idempotency_key;
DELETE FROM idem_transactions;
-- H23: zero has no sign and no scale.
SELECT pg_temp.outcomes('{"v":0}', '{"v":-0}', '{"v":-0.0}', '{"v":0e5}', '{"v":0.000}', '{"v":0.0001}');
-- H24: the last of duplicate members wins, at each level.
SELECT pg_temp.outcomes('{"amount":1,"amount":2}', '{"amount":2}', '{"amount":2,"amount":1}');
SELECT pg_temp.outcomes('{"o":{"a":1,"\u0061":2}}', '{"o":{"x":1},"o":{"a":2}}', '{"o":{"x":1,"a":2}}');
-- H25: everything given counts.
SELECT pg_temp.outcomes('{"order":1,"sent_at":"10:00:00"}', '{"order":1,"sent_at":"10:00:03"}', '{"order":1}');
-- H26: members are ordered by UTF-16 code units, in whichever order they were sent.
SELECT pg_temp.outcomes('{"\u20ac":"\u2028","\ufb33":"\"","\ud83d\ude00":"\\","b":"\u001f","aa":5}',
  '{"aa":5,"b":"\u001f","\ud83d\ude00":"\\","\ufb33":"\u0022","\u20ac":"\u2028"}',
  '{"\ud83d\ude00":"\\","aa":5,"\ufb33":"\"","b":"\u001F","\u20ac":"\u2028"}');
SELECT idem_canonical('{"\ufb33":3,"b":4,"\ud83d\ude00":2,"aa":5,"\u20ac":"\u2028\"\\\u001F\b\t\n\f\r\/\u007f"}')
  = U&'{"aa":5,"b":4,"\20AC":"\2028\\"\\\\\\u001f\\b\\t\\n\\f\\r/\007F","\+01F600":2,"\FB33":3}' AS in_utf16_order;
-- H28: null is a value; a missing details argument is the empty object.
SELECT pg_temp.outcomes('{"a":null}', '{}', '{"a":null}', '{"a":"null"}');
SELECT pg_temp.outcomes('{}', NULL, '{}'), pg_temp.outcomes(NULL, '{}', '{"a":null}');
-- H31: an escaped pair of surrogates is the character.
SELECT pg_temp.outcomes('{"a":"\ud83d\ude00"}', convert_from('\x7b2261223a22f09f9880227d', 'UTF8'), '{"a":"\ud83d\ude01"}');
-- Unicode is not normalised, letters are not folded, strings are not trimmed.
SELECT pg_temp.outcomes('{"a":"caf\u00e9"}', '{"a":"cafe\u0301"}', '{"a":"CAF\u00c9"}', '{"a":"caf\u00e9 "}');
SELECT pg_temp.outcomes('{"a":"x"}', '{"A":"x"}', '{"a ":"x"}');
-- The order of elements of an array counts, and so does its nesting.
SELECT pg_temp.outcomes('{"a":[1,2]}', '{"a":[2,1]}', '{"a":[[1,2]]}', '{"a":[1,2,null]}', '{"a":[1.0,2.0]}');
DROP FUNCTION pg_temp.outcomes;

-- The canonical form of each kind of value.
SELECT d, idem_canonical(d::jsonb) FROM unnest(ARRAY['null', 'true', 'false', '"x"', '""', '[]', '{}', '[1, [2], {"b": [], "a": {}}]',
  '{"b": 1, "a": 2, "aa": 3, "": 4}', '0', '-0.0', '-1.50', '100', '1e20', '1e21', '123e-8', '1e-6', '1e-7', '-1.5e-7',
  '12345678901234567890.123', '123456789012345678901234', '1e400', '0.1e-399', '9007199254740993']) WITH ORDINALITY AS u(d, n)
ORDER BY n;
SELECT idem_canonical('1e131071'), idem_canonical('1e-16383');
-- It reads back as the same document, and is a fixed point.
SELECT idem_canonical(c::jsonb) = c AS fixed_point, c::jsonb = d AS same_document
FROM (SELECT '{"z": [1.50, -0, {"y": "\u20ac\"", "x": null}], "a": 1e30}'::jsonb AS d) x, LATERAL idem_canonical(d) AS c;

-- The fingerprint is the SHA-256 of the canonical request.
SELECT encode(idem_fingerprint(1000, 'EUR'), 'hex');
SELECT encode(idem_fingerprint(4480, 'EUR', '{ "ship": null, "lines": [ { "sku": "B-7", "qty": 2.0 } ], "rate": 1.10,
  "note": "caf\u00e9 \/ bar", "rate": 1.0850, "batch": 9007199254740993 }', order_ref => 'order-77'), 'hex');
SELECT count(*) AS requests, count(DISTINCT hash) AS hashes, count(*) FILTER (WHERE hash <> sha256(convert_to(idem_canonical(
  jsonb_build_object('amount_minor', a, 'currency', c, 'details', coalesce(d, '{}'), 'operation', o, 'order_ref', r)), 'UTF8')))
  AS other_than_specified
FROM unnest(ARRAY[1, 9223372036854775807]) a, unnest(ARRAY['EUR', 'USD']) c,
  unnest(ARRAY['{}', NULL, '{"a": null}', '{"\ud83d\ude00": 1.0, "\ufb33": [1e22, "\n"]}']::jsonb[]) d,
  unnest(ARRAY['charge', U&'pr\00E9lever "1"', 'a\b']) o, unnest(ARRAY[NULL, 'null', U&'\+01F600', '"']) r,
  LATERAL idem_fingerprint(a, c, d, o, r) AS hash;
SELECT idem_fingerprint(1, 'EUR') = idem_fingerprint(1, 'EUR', NULL, 'create-transaction', NULL) AS defaults,
  idem_fingerprint(amount_minor => 1, currency => 'EUR', order_ref => 'null') = idem_fingerprint(1, 'EUR') AS null_is_a_text;

-- H59: the calls are volatile and stay out of parallel plans; the pure functions are immutable and run in them.
SELECT proname, provolatile, proparallel FROM pg_proc
WHERE proname IN ('idem_create_transaction', 'idem_try_create_transaction', 'idem_canonical', 'idem_fingerprint') ORDER BY 1;
CREATE TABLE big AS SELECT g FROM generate_series(1, 500) g;
SELECT bit_xor(('x' || encode(idem_fingerprint(g, 'EUR', jsonb_build_object('g', g)), 'hex'))::bit(64)) AS hashes FROM big \gset
SELECT set_config(CASE WHEN current_setting('server_version_num')::int < 160000 THEN 'force_parallel_mode'
  ELSE 'debug_parallel_query' END, 'on', false) AS forced;
SELECT count(f.transaction_id) FROM big b, LATERAL idem_create_transaction('t', 'k' || b.g, b.g, 'EUR') f;
SELECT outcome, count(*) FROM big b, LATERAL idem_try_create_transaction('t', 'k' || b.g, b.g, 'EUR') GROUP BY outcome;
CREATE FUNCTION pg_temp.plan(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY EXECUTE 'EXPLAIN (COSTS OFF) ' || query;
END $$;
SELECT count(*) FILTER (WHERE plan LIKE '%Gather%') > 0 AS in_a_worker
FROM pg_temp.plan('SELECT count(idem_fingerprint(g, ''EUR'')) FROM big') AS plan;
SELECT count(*) FILTER (WHERE plan LIKE '%Gather%') > 0 AS in_a_worker
FROM pg_temp.plan('SELECT idem_create_transaction(''t'', ''k'' || g, g, ''EUR'') FROM big') AS plan;
DROP FUNCTION pg_temp.plan;
SELECT bit_xor(('x' || encode(idem_fingerprint(g, 'EUR', jsonb_build_object('g', g)), 'hex'))::bit(64)) = :'hashes' AS same_hashes
FROM big;
DROP TABLE big;
\c
DELETE FROM idem_transactions;

-- Immutable: an index can hold both.
CREATE TABLE document (d jsonb);
CREATE UNIQUE INDEX ON document (idem_canonical(d));
CREATE INDEX ON document (idem_fingerprint(1, 'EUR', d));
INSERT INTO document VALUES ('{"a": 1}'), ('{"a": 2}');
\set VERBOSITY sqlstate
INSERT INTO document VALUES ('{"a": 1.0}');
DROP TABLE document;
