-- No setting of the session changes a hash or a decision; the settings of idem itself are checked.

-- The request that is hashed, in each round anew from its text.
CREATE FUNCTION pg_temp.hashes() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  hashes text;
BEGIN
  EXECUTE $q$SELECT concat_ws(' ', encode(idem_fingerprint(123456, 'EUR', d, o, r), 'hex'),
      encode(sha256(convert_to(idem_canonical(d), 'UTF8')), 'hex'))
    FROM (SELECT ('{"pi": 3.14159265358979323846, "tiny": 1e-30, "at": "2024-02-29 12:00:00+02", "b": "\\x00ff",
      "gr\u00fc\u00df": "\ud83d\ude00", "i": "I\u0130\u0131i", "n": [1234567.891, -0.0]}')::jsonb, 'pr' || chr(233) || 'lever',
      'a\b') AS request(d, o, r)$q$ INTO hashes;
  RETURN hashes;
END $$;
SELECT pg_temp.hashes() AS expected \gset
\echo :expected
SELECT outcome FROM idem_create_transaction('t', 'k', 123456, 'EUR', '{"pi": 3.14159265358979323846, "n": [1234567.891, -0.0]}');

CREATE TEMP TABLE setting (name text, value text);
INSERT INTO setting VALUES
  ('extra_float_digits', '-15'), ('extra_float_digits', '3'), ('DateStyle', 'German, DMY'), ('DateStyle', 'Postgres, MDY'),
  ('IntervalStyle', 'iso_8601'), ('TimeZone', 'Asia/Kolkata'), ('TimeZone', 'UTC'), ('bytea_output', 'escape'),
  ('bytea_output', 'hex'), ('lc_numeric', 'C'), ('lc_monetary', 'C'), ('lc_time', 'C'), ('standard_conforming_strings', 'on'),
  ('backslash_quote', 'on'), ('escape_string_warning', 'off'), ('quote_all_identifiers', 'on'), ('xmloption', 'document'),
  ('client_encoding', 'LATIN1'), ('client_encoding', 'SQL_ASCII'), ('client_encoding', 'UTF8'),
  ('search_path', 'pg_catalog, public'), ('transform_null_equals', 'on'), ('array_nulls', 'off'),
  ('default_transaction_deferrable', 'on'), ('row_security', 'off'), ('check_function_bodies', 'off'),
  ('enable_indexscan', 'off'), ('enable_seqscan', 'off'), ('enable_bitmapscan', 'off'), ('plan_cache_mode', 'force_custom_plan'),
  ('plan_cache_mode', 'force_generic_plan'), ('work_mem', '64kB'), ('jit', 'on'), ('geqo', 'off'),
  ('default_text_search_config', 'pg_catalog.german'), ('gin_fuzzy_search_limit', '1'), ('synchronous_commit', 'off'),
  ('idem.busy_timeout', '0'), ('idem.busy_timeout', '1min');
-- Other locales, as far as this machine has them.
INSERT INTO setting SELECT s, collcollate FROM unnest(ARRAY['lc_numeric', 'lc_monetary', 'lc_time']) s,
  (SELECT DISTINCT collcollate FROM pg_collation WHERE collprovider = 'c' AND collencoding IN (-1, 6)) c
WHERE collcollate <> '';
SELECT count(*) >= 41 AS enough FROM setting;

CREATE FUNCTION pg_temp.under(name text, value text, OUT hashes text, OUT outcome text) LANGUAGE plpgsql AS $$
BEGIN
  BEGIN
    PERFORM set_config(name, value, true);
  EXCEPTION WHEN invalid_parameter_value THEN
    RETURN; -- a locale that the operating system has lost
  END;
  hashes := pg_temp.hashes();
  EXECUTE $q$SELECT outcome FROM idem_create_transaction('t', 'k', 123456, 'EUR',
    '{"n": [1234567.8910, 0], "pi": 3.14159265358979323846}')$q$ INTO outcome;
  RAISE 'undo';
EXCEPTION WHEN raise_exception THEN
  NULL; -- and with it the setting
END $$;
SELECT name, value, u FROM setting, LATERAL pg_temp.under(name, value) u
WHERE (hashes, outcome) IS DISTINCT FROM (:'expected', 'replayed') AND hashes IS NOT NULL
ORDER BY name, value;
SELECT count(hashes) >= 41 AS enough FROM setting, LATERAL pg_temp.under(name, value) u;
DROP TABLE setting;
DROP FUNCTION pg_temp.under;
DROP FUNCTION pg_temp.hashes;
DELETE FROM idem_transactions;

-- The client's encoding changes neither the key nor the hash.
SET client_encoding = 'LATIN1';
\set cafe `printf 'caf\351'`
SELECT outcome FROM idem_create_transaction('t', :'cafe', 1, 'EUR', jsonb_build_object(:'cafe', right(:'cafe', 1)));
SET client_encoding = 'UTF8';
SELECT outcome FROM idem_create_transaction('t', U&'caf\00E9', 1, 'EUR', '{"caf\u00e9": "\u00e9"}');
RESET client_encoding;
DELETE FROM idem_transactions;

-- Both ways to read a backslash in a literal: what counts is the text that arrives.
SET escape_string_warning = off;
SET standard_conforming_strings = off;
SELECT outcome FROM idem_create_transaction('t', 'a\\b', 1, 'EUR', '{"x": "\\u0041"}', order_ref => 'a\\b');
SET standard_conforming_strings = on;
SELECT outcome FROM idem_create_transaction('t', 'a\b', 1, 'EUR', '{"x": "A"}', order_ref => 'a\b');
RESET standard_conforming_strings;
RESET escape_string_warning;
DELETE FROM idem_transactions;

-- idem.busy_timeout: milliseconds, -1 and more, for every user.
\set VERBOSITY sqlstate
SHOW idem.busy_timeout;
SELECT setting, unit, min_val, max_val, boot_val, context, vartype FROM pg_settings WHERE name = 'idem.busy_timeout';
SET idem.busy_timeout = 0;
SHOW idem.busy_timeout;
SET idem.busy_timeout = '1500ms';
SHOW idem.busy_timeout;
SET idem.busy_timeout = '2s';
SHOW idem.busy_timeout;
SET idem.busy_timeout = 2147483647;
SHOW idem.busy_timeout;
SET idem.busy_timeout = -1;
SHOW idem.busy_timeout;
SET idem.busy_timeout = -2;
SET idem.busy_timeout = 2147483648;
SET idem.busy_timeout = 'soon';
SET idem.busy_timeout = '';
SET idem.busy_timeout = '5 kB';
SHOW idem.busy_timeout;
RESET idem.busy_timeout;

-- With nobody to wait for, each of them gives the same answers, and lock_timeout stays the session's own.
SELECT n, outcome, current_setting('lock_timeout') AS lock_timeout
FROM unnest(ARRAY['-1', '0', '1', '10', '2147483647']) WITH ORDINALITY AS u(value, n),
  LATERAL (SELECT set_config('idem.busy_timeout', value, true)) s(setting),
  LATERAL idem_create_transaction('t', left('k', 1 + 0 * length(setting)), 1, 'EUR', order_ref => 'o') ORDER BY n;
SHOW idem.busy_timeout;
SHOW lock_timeout;
DELETE FROM idem_transactions;

-- The prefix is reserved: a setting that idem does not have is refused, set before the library is loaded or after.
SET idem.nonsense = 1;
SET idem.busy_timeouts = 1;
SELECT set_config('idem.nonsense', '1', false);
\c
SET client_min_messages = error;
DO $$
BEGIN
  PERFORM set_config('idem.nonsense', '1', false);
EXCEPTION WHEN OTHERS THEN
  NULL; -- the server loads the library for every session
END $$;
SELECT idem_version() IS NOT NULL AS loaded;
SELECT current_setting('idem.nonsense', true) IS NULL AS gone;
RESET client_min_messages;
