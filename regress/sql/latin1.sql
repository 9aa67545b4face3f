-- Databases in other encodings: same hashes, limits in octets of the database, and no octets that are no text.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
DROP DATABASE IF EXISTS idem_regression_latin1;
DROP DATABASE IF EXISTS idem_regression_ascii;
SELECT current_database() AS home \gset
SELECT encode(idem_fingerprint(1, 'EUR', '{"gr\u00fc\u00df": "\u00e9", "z": 1, "\u00ff": 2, "\u00e4": 3, "aa": 4}',
  U&'pr\00E9lever', U&'\00F8'), 'hex') AS in_utf8 \gset

CREATE DATABASE idem_regression_latin1 TEMPLATE template0 ENCODING 'LATIN1' LOCALE_PROVIDER libc LC_COLLATE 'C' LC_CTYPE 'C';
\c idem_regression_latin1
SET client_min_messages = warning;
SET lc_messages = 'C';
CREATE EXTENSION idem;
SHOW server_encoding;

-- One hash for the same characters, whatever the encoding and the order of the members.
SELECT encode(idem_fingerprint(1, 'EUR', '{"\u00e4": 3, "\u00ff": 2, "z": 1, "aa": 4, "gr\u00fc\u00df": "\u00e9"}', U&'pr\00E9lever',
  U&'\00F8'), 'hex') = :'in_utf8' AS same_hash;
SELECT encode(idem_fingerprint(1, 'EUR', jsonb_build_object(E'gr\xFC\xDF', E'\xE9', 'z', 1, E'\xFF', 2, E'\xE4', 3, 'aa', 4),
  E'pr\xE9lever', E'\xF8'), 'hex') = :'in_utf8' AS same_hash;
SELECT idem_fingerprint(1, 'EUR', d) = sha256(convert_to(idem_canonical(jsonb_build_object('amount_minor', 1, 'currency', 'EUR',
  'details', d, 'operation', 'create-transaction', 'order_ref', NULL)), 'UTF8')) AS as_specified
FROM (VALUES ('{"\u00ff": ["\u00e9\u0080\u009f", 1.50]}'::jsonb)) v(d);

-- Canonical text is in the encoding of the database; members stand in the order of their code points.
SELECT encode(convert_to(idem_canonical('{"\u00e9": 1, "z": 2, "\u00c9": "\u00fc\n"}'), 'LATIN1'), 'escape') AS octets;

-- A whole call: created, replayed, and a conflict that names its place in the encoding of the database.
SELECT outcome FROM idem_create_transaction('t', E'caf\xE9', 1, 'EUR', jsonb_build_object(E'gr\xFC\xDF', E'\xE9'), E'pr\xE9lever', E'\xF8');
SELECT outcome, details = jsonb_build_object(E'gr\xFC\xDF', E'\xE9') AS details, order_ref = E'\xF8' AS order_ref
FROM idem_create_transaction('t', E'caf\xE9', 1, 'EUR', '{"gr\u00fc\u00df": "\u00e9"}', E'pr\xE9lever', E'\xF8');
SELECT encode(idempotency_key::bytea, 'escape') AS key, encode(operation::bytea, 'escape') AS operation, octet_length(order_ref)
FROM idem_transactions;
CREATE FUNCTION pg_temp.report(call text) RETURNS TABLE (code text, detail text) LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE 'SELECT ' || call;
  RETURN QUERY SELECT 'none', NULL;
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
  code := SQLSTATE;
  RETURN NEXT;
END $$;
SELECT code, encode(convert_to(detail, 'LATIN1'), 'escape') AS detail
FROM pg_temp.report($$idem_create_transaction('t', E'caf\xE9', 1, 'EUR',
  '{"gr\u00fc\u00df": 1, "\u00e4": 1}', E'pr\xE9lever', E'\xF8')$$);
-- A message that names a relation has its name in the encoding of the database, too.
DO $$ BEGIN EXECUTE format('ALTER INDEX idem_transactions_scope_key RENAME TO %I', E'cl\xE9'); END $$;
CREATE FUNCTION suppress() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER suppress BEFORE INSERT ON idem_transactions FOR EACH ROW EXECUTE FUNCTION suppress();
SELECT code, encode(convert_to(detail, 'LATIN1'), 'escape') AS detail FROM pg_temp.report($$idem_create_transaction('t', 'k', 1, 'EUR')$$);
DROP TRIGGER suppress ON idem_transactions;
DO $$ BEGIN EXECUTE format('ALTER INDEX %I RENAME TO idem_transactions_scope_key', E'cl\xE9'); END $$;
-- Keys are compared as they are, and folded by nobody.
SELECT outcome FROM idem_create_transaction('t', E'CAF\xC9', 1, 'EUR', '{}', E'pr\xE9lever');
DELETE FROM idem_transactions;

-- An attached table: names, exclusions, keys and operations in the encoding of the database.
DO $$ BEGIN EXECUTE format('CREATE TABLE pay (tenant_id text NOT NULL, operation text NOT NULL, %I text NOT NULL, request_hash bytea,
  %I int, %I jsonb, UNIQUE (tenant_id, operation, %1$I))', E'cl\xE9', E'\xFC', E'o\xF9'); END $$;
SELECT idem_attach('pay', key_column => E'cl\xE9', id_column => NULL, exclude => ARRAY[E'$."o\xF9"."\xE0"', '$.x', E'$."\xE9"']);
SELECT encode(convert_to(array_to_string(exclude, ' '), 'LATIN1'), 'escape') AS exclude FROM idem_tables;
SELECT outcome FROM idem_insert('pay', 't', E'caf\xE9', '{"\u00fc": 1, "o\u00f9": {"\u00e0": 1, "\u00e9": "\u00e8"}}', E'pr\xE9lever');
SELECT outcome FROM idem_insert('pay', 't', E'caf\xE9', '{"\u00fc": 1, "o\u00f9": {"\u00e0": 2, "\u00e9": "\u00e8"}}', E'pr\xE9lever');
SELECT encode(substr(request_hash, 34), 'escape') AS exclude, substr(request_hash, 2, 32) = sha256(convert_to(
  '{"operation":"' || operation || '","row":{"o' || chr(249) || '":{"' || chr(233) || '":"' || chr(232) || '"},"' || chr(252) || '":1}}',
  'UTF8')) AS as_specified FROM pay;
SELECT code, encode(convert_to(detail, 'LATIN1'), 'escape') AS detail
FROM pg_temp.report($$idem_insert('pay', 't', E'caf\xE9', '{"\u00fc": 2, "o\u00f9": {"\u00e0": 2, "\u00e9": "x"}}', E'pr\xE9lever')$$);
SELECT code FROM pg_temp.report($$idem_insert('pay', 't', E'caf\xE9', '{"\u00fd": 2}', E'pr\xE9lever')$$);
SELECT code FROM pg_temp.report($$idem_insert('pay', 't', repeat(E'\xE9', 255), '{}', repeat(E'\xE9', 100))$$);
SELECT code FROM pg_temp.report($$idem_insert('pay', 't', repeat(E'\xE9', 256), '{}', 'op')$$);
SELECT idem_attach('pay', key_column => E'cl\xE9', id_column => NULL);
SELECT outcome FROM idem_insert('pay', 't', E'caf\xE9', '{"\u00fc": 1, "o\u00f9": {"\u00e9": "\u00e8"}}', E'pr\xE9lever');
DROP TABLE pay;

-- Limits count octets of this encoding.
SELECT code FROM pg_temp.report($$idem_create_transaction('t', repeat(E'\xE9', 255), 1, 'EUR', '{}',
  repeat(E'\xE9', 100), repeat(E'\xE9', 255))$$);
SELECT * FROM pg_temp.report($$idem_create_transaction('t', repeat(E'\xE9', 256), 1, 'EUR')$$);
SELECT * FROM pg_temp.report($$idem_create_transaction('t', 'k', 1, 'EUR', '{}', repeat(E'\xE9', 101))$$);
DELETE FROM idem_transactions;

-- Control characters U+0080 to U+009F and the blank U+00A0 are what they are in Unicode.
SELECT place, code, count(*), string_agg(to_hex(c), ' ' ORDER BY c) FILTER (WHERE c IN (32, 33, 126, 127, 128, 133, 159, 160, 161, 173, 255))
  AS some
FROM generate_series(1, 255) c, LATERAL (VALUES ('first', chr(c) || 'k'), ('inside', 'a' || chr(c) || 'b'), ('last', 'k' || chr(c)))
  p(place, key), LATERAL pg_temp.report(format('idem_create_transaction(''t'', %L, 1, ''EUR'')', key))
GROUP BY place, code ORDER BY place, code;
DELETE FROM idem_transactions;

-- A character that this encoding does not have never becomes a request.
SELECT code FROM pg_temp.report($$idem_create_transaction('t', 'k', 1, 'EUR', '{"a": "\u20ac"}')$$);
SELECT count(*) FROM idem_transactions;

-- SQL_ASCII: the octets must be UTF-8, and mean the same then.
\c :"home"
CREATE DATABASE idem_regression_ascii TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE_PROVIDER libc LC_COLLATE 'C' LC_CTYPE 'C';
\c idem_regression_ascii
SET client_min_messages = warning;
SET lc_messages = 'C';
CREATE EXTENSION idem;
SHOW server_encoding;
SELECT encode(idem_fingerprint(1, 'EUR', jsonb_build_object(E'gr\xC3\xBC\xC3\x9F', E'\xC3\xA9', 'z', 1, E'\xC3\xBF', 2, E'\xC3\xA4', 3,
  'aa', 4), E'pr\xC3\xA9lever', E'\xC3\xB8'), 'hex') = :'in_utf8' AS same_hash;
SELECT outcome FROM idem_create_transaction('t', E'caf\xC3\xA9', 1, 'EUR', jsonb_build_object(E'\xC3\xA9', 1));
SELECT outcome FROM idem_create_transaction('t', E'caf\xC3\xA9', 1, 'EUR', jsonb_build_object(E'\xC3\xA9', 1.0));
\set VERBOSITY sqlstate
SELECT idem_create_transaction('t', E'caf\xC3\xA9', 1, 'EUR', jsonb_build_object(E'\xC3\xA9', 2));
SELECT idem_create_transaction('t', E'\xE9', 1, 'EUR');
SELECT idem_create_transaction(E'\xE9', 'k', 1, 'EUR');
SELECT idem_create_transaction('t', 'k', 1, 'EUR', '{}', E'\xED\xA0\xBD');
SELECT idem_create_transaction('t', 'k', 1, 'EUR', order_ref => E'\xC3');
SELECT idem_create_transaction('t', 'k', 1, 'EUR', jsonb_build_object('a', E'\xFF'));
SELECT idem_create_transaction('t', 'k', 1, 'EUR', jsonb_build_object(E'\xFF', 'a', 'b', 'c'));
SELECT idem_try_create_transaction('t', 'k', 1, 'EUR', jsonb_build_object('a', jsonb_build_array(E'\xFF')));
SELECT ord, outcome, sqlstate FROM idem_create_transactions('{t}', ARRAY['b1', E'\xE9', 'b2', E'k\xC2\xA0'], '{1}', '{EUR}',
  ARRAY['{}', '{}', jsonb_build_object('a', E'\xFF'), '{}']);
SELECT * FROM idem_create_transactions('{t}', ARRAY['b3', E'\xE9'], '{1}', '{EUR}', mode => 'all');
SELECT idem_canonical(to_jsonb(E'\xFF'::text));
SELECT idem_fingerprint(1, 'EUR', '{}', E'\xFF');
SELECT idem_create_transaction('t', E'\xC2\x85', 1, 'EUR');
SELECT idem_create_transaction('t', E'k\xC2\xA0', 1, 'EUR');
SELECT idem_create_transaction('t', repeat(E'\xC3\xA9', 128), 1, 'EUR');
\set VERBOSITY default
SELECT count(*) FROM idem_transactions;

\c :"home"
DROP DATABASE idem_regression_latin1;
DROP DATABASE idem_regression_ascii;
