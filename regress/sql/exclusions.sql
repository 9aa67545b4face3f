-- What is excluded does not enter the fingerprint, and changing that never turns the retry of an old row into a conflict.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE SCHEMA exclusions;
SET search_path = exclusions, public;
CREATE TABLE pay (id bigserial PRIMARY KEY, tenant_id text NOT NULL, operation text NOT NULL, idempotency_key text NOT NULL,
  request_hash bytea, amount numeric(10,2), sent_at timestamptz, meta jsonb, UNIQUE (tenant_id, operation, idempotency_key));
CREATE FUNCTION call(key text, r text) RETURNS text LANGUAGE sql AS $$
  SELECT outcome::text FROM public.idem_try_insert('exclusions.pay', 't', key, r::jsonb, 'op')
$$;
-- Rows under each of several lists; the stored list is in the hash column, in an order of its own.
CREATE TABLE lists (name text, exclude text[]);
INSERT INTO lists VALUES ('none', '{}'), ('sent', '{$.sent_at}'), ('trace', '{"$.meta.\"trace id\"","$.meta.lines[*].at"}'),
  ('all', '{"$.meta.\"trace id\"",$.sent_at,$.meta.lines[*].at,$.sent_at}'), ('meta', '{$.meta}'), ('amount', '{$.amount}');
CREATE FUNCTION attach(list text) RETURNS void LANGUAGE sql AS $$
  SELECT public.idem_attach('exclusions.pay', exclude => (SELECT exclude FROM exclusions.lists WHERE name = list))
$$;
CREATE FUNCTION r(amount text, sent_at text, trace text, at text) RETURNS text LANGUAGE sql AS $$
  SELECT format('{"amount": %s, "sent_at": "2024-01-01 %s", "meta": {"trace id": %s, "k": 1, "lines": [{"at": %s, "n": 1}, {"at": %s}]}}',
    amount, sent_at, trace, at, at)
$$;
SELECT name, attach(name), call(name, r('1.5', '10:00', '7', '8')) FROM lists ORDER BY name;
SELECT idempotency_key, octet_length(request_hash), convert_from(substr(request_hash, 34), 'UTF8') AS exclude FROM pay ORDER BY 1;
-- An honest retry of each replays under each list.
CREATE FUNCTION matrix(r text, OUT now text, OUT replayed text) RETURNS SETOF record LANGUAGE plpgsql AS $$
BEGIN
  FOR now IN SELECT name FROM exclusions.lists ORDER BY name LOOP
    PERFORM exclusions.attach(now);
    replayed := (SELECT string_agg(name, ' ' ORDER BY name) FROM exclusions.lists WHERE exclusions.call(name, r) = 'replayed');
    RETURN NEXT;
  END LOOP;
END $$;
SELECT * FROM matrix(r('1.50', '10:00', '7', '8'));
-- What else is a retry goes by the list of the row's own time: another time, other traces, another amount.
SELECT * FROM matrix(r('1.5', '11:00', '7', '8'));
SELECT * FROM matrix(r('1.5', '10:00', '{"x": []}', 'null'));
SELECT * FROM matrix(r('2.5', '10:00', '7', '8'));
-- An excluded member may be missing, and come later; its column still gets the value of the first call.
SELECT attach('all');
SELECT call('missing', '{"amount": 1, "meta": {"k": 1}}');
SELECT call('missing', '{"amount": 1, "meta": {"k": 1, "trace id": 5}, "sent_at": "2024-01-01"}');
SELECT call('missing', '{"amount": 1, "meta": {"k": 1, "lines": []}}');
SELECT call('missing', '{"amount": 1}');
SELECT call('there', '{"amount": 1, "sent_at": "2024-01-01 UTC"}');
SELECT call('there', '{"amount": 1, "sent_at": "2025-01-01 UTC"}');
SELECT call('there', '{"amount": 1}');
SELECT idempotency_key, sent_at AT TIME ZONE 'UTC' AS sent_at FROM pay WHERE idempotency_key IN ('missing', 'there') ORDER BY 1;
-- The report of a conflict does not name what the row's own list excludes, and shows no value.
\set VERBOSITY default
SELECT idem_insert('pay', 't', 'there', '{"amount": 2, "sent_at": "2026-01-01"}', 'op');
SELECT idem_insert('pay', 't', 'all', r('1.5', '11:00', '9', '9')::jsonb || '{"meta": {"trace id": 1, "k": 2, "lines": [{"at": 1, "n": 2}]}}', 'op');
SELECT idem_insert('pay', 't', 'none', r('1.5', '11:00', '7', '8')::jsonb, 'op');
SELECT attach('none');
SELECT idem_insert('pay', 't', 'sent', r('2.5', '11:00', '7', '8')::jsonb, 'op');
SELECT attach('all');
-- Malformed lists.
SELECT idem_attach('pay', exclude => '{sent_at}');
SELECT idem_attach('pay', exclude => '{$}');
SELECT idem_attach('pay', exclude => '{$.lines[0].at}');
SELECT idem_attach('pay', exclude => '{"$.meta.\"trace id"}');
SELECT idem_attach('pay', exclude => ARRAY[E'$."a\nb"']);
SELECT idem_attach('pay', exclude => ARRAY['$.' || repeat('x', 600), '$.' || repeat('y', 600)]);
\set VERBOSITY sqlstate
SELECT exclude FROM idem_tables WHERE target = 'pay'::regclass;

-- Rows from before the table was attached have no fingerprint: the columns that are sent decide, less what is excluded.
SELECT attach('none');
INSERT INTO pay (tenant_id, operation, idempotency_key, amount, sent_at, meta)
VALUES ('t', 'op', 'old', 1.5, '2024-01-01', '{"k": 1, "trace id": 1}');
SELECT call('old', '{"amount": 1.50}');
SELECT call('old', '{"amount": 1.504}');
SELECT call('old', '{}');
SELECT call('old', '{"amount": 1.5, "sent_at": "2024-01-01", "meta": {"trace id": 1.0, "k": 1}}');
SELECT call('old', '{"amount": 2}');
SELECT call('old', '{"amount": null}');
SELECT call('old', '{"amount": 1.5, "meta": {"trace id": 2, "k": 1}}');
SELECT call('old', '{"amount": 1.5, "sent_at": "2025-01-01"}');
SELECT attach('all');
SELECT call('old', '{"amount": 1.5, "sent_at": "2025-01-01", "meta": {"trace id": 2, "k": 1}}');
SELECT call('old', '{"amount": 1.5, "meta": {"trace id": 2, "k": 2}}');
SELECT count(*) FROM pay WHERE idempotency_key = 'old' AND request_hash IS NULL;
\set VERBOSITY default
SELECT idem_insert('pay', 't', 'old', '{"amount": 2, "meta": {"k": 2}}', 'op');

-- Fingerprints of other origin, and of a version to come.
UPDATE pay SET request_hash = sha256('x') WHERE idempotency_key = 'old';
SELECT idem_insert('pay', 't', 'old', '{}', 'op');
UPDATE pay SET request_hash = '' WHERE idempotency_key = 'old';
SELECT idem_insert('pay', 't', 'old', '{}', 'op');
UPDATE pay SET request_hash = '\x02' || sha256('x') WHERE idempotency_key = 'old';
SELECT idem_try_insert('pay', 't', 'old', '{}', 'op');
UPDATE pay SET request_hash = '\x01' || sha256('x') || 'no list' WHERE idempotency_key = 'old';
SELECT idem_insert('pay', 't', 'old', '{}', 'op');
UPDATE pay SET request_hash = '\x01' || sha256('x') || '\xff00' WHERE idempotency_key = 'old';
SELECT idem_insert('pay', 't', 'old', '{}', 'op');
UPDATE pay SET request_hash = '\x01' || sha256('x') WHERE idempotency_key = 'old';
SELECT idem_try_insert('pay', 't', 'old', '{}', 'op');
-- Compared as it is specified.
SELECT request_hash = '\x01' || sha256('{"operation":"op","row":{"amount":1}}') || convert_to('$.meta."trace id"' || chr(10)
  || '$.meta.lines[*].at' || chr(10) || '$.sent_at', 'UTF8') AS as_specified
FROM pay WHERE idempotency_key = 'there';
-- Settings change no fingerprint.
SET extra_float_digits = 0;
SET DateStyle = 'German';
SET bytea_output = 'escape';
SET TIME ZONE 'Asia/Tokyo';
SELECT call('none', r('1.50', '10:00', '7', '8'));
SELECT call('there', '{"amount": 1}');

DROP SCHEMA exclusions CASCADE;
