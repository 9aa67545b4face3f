-- What sqlsmith plays with: the extension with some rows, an attached table, and a role that may do anything with them
-- but is no superuser. sqlsmith calls functions with one result only, hence the wrappers.
CREATE EXTENSION idem;
CREATE TABLE payment (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(), tenant_id text NOT NULL, operation text NOT NULL,
  idempotency_key text NOT NULL, request_hash bytea, invoice_no text UNIQUE, amount numeric, meta jsonb,
  UNIQUE (tenant_id, operation, idempotency_key));
SELECT idem_attach('payment');

-- Values of the types that the calls take, most of them sensible.
CREATE TABLE smith_values AS
SELECT g AS number, 't' || g % 3 AS tenant, (ARRAY['k', 'K', 'é', 'kk', 'k' || g])[1 + g % 5] AS key,
  (ARRAY[1, 2, 1000, 9223372036854775807])[1 + g % 4]::bigint AS amount, (ARRAY['EUR', 'USD'])[1 + g % 2] AS currency,
  (ARRAY['{}', '{"a": 1.0}', '{"a": 1}', '{"a": {"b": [1e400, 9007199254740993]}}', NULL])[1 + g % 5]::jsonb AS details,
  (ARRAY['op', 'refund', 'create-transaction'])[1 + g % 3] AS operation, (ARRAY['o1', 'o2', NULL])[1 + g % 3] AS order_ref,
  (ARRAY['payment', 'idem_transactions', 'idem_tables', 'pg_class'])[1 + g % 4]::regclass AS target
FROM generate_series(0, 11) g;

-- Views call what has several results, in the places where queries put relations.
CREATE VIEW smith_create AS
SELECT v.number, f.* FROM smith_values v,
  LATERAL idem_create_transaction('made for ' || number, key, amount, currency, details, operation, order_ref) f;
CREATE VIEW smith_try AS
SELECT v.number, f.* FROM smith_values v,
  LATERAL idem_try_create_transaction(tenant, key, amount, currency, details, operation, order_ref) f;
CREATE VIEW smith_batch AS
SELECT f.* FROM (SELECT array_agg(tenant) t, array_agg(key) k, array_agg(amount - 1) a, array_agg(currency) c,
    array_agg(details) d, array_agg(operation) p, array_agg(order_ref) o FROM smith_values) v,
  LATERAL idem_create_transactions(t, k, a, c, d, p, o) f;
CREATE VIEW smith_insert AS
SELECT v.number, f.* FROM smith_values v,
  LATERAL idem_insert('payment', 'made for ' || number, key, jsonb_build_object('meta', details), operation) f;
CREATE VIEW smith_try_insert AS
SELECT v.number, f.* FROM smith_values v,
  LATERAL idem_try_insert('payment', tenant, key, jsonb_build_object('amount', amount, 'meta', details), operation) f;
CREATE VIEW smith_hashes AS
SELECT number, idem_canonical(details) AS form, idem_fingerprint(amount, currency, details, operation, order_ref) AS hash
FROM smith_values;
CREATE VIEW smith_look AS
SELECT v.number, p.path, a.* FROM smith_values v, LATERAL idem_write_path() p,
  LATERAL idem_audit_table(target, '1 hour', number + 1) a WHERE number < 3;
CREATE VIEW smith_duplicates AS
SELECT * FROM idem_find_duplicates('idem_transactions', ARRAY['tenant_id', 'currency']);

-- Functions make a call of any values that a query has. Errors become results, so that one does not keep the rest of a
-- query from being executed.
CREATE FUNCTION smith_call(key text, number bigint) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  RETURN (SELECT f::text FROM smith_values v, LATERAL idem_create_transaction(
    v.tenant, $1, CASE WHEN $2 % 3 = 0 THEN $2 ELSE v.amount END, v.currency, v.details, v.operation, v.order_ref) f
    WHERE v.number = abs($2 % 12));
EXCEPTION WHEN OTHERS THEN
  RETURN SQLSTATE;
END $$;
CREATE FUNCTION smith_row(key text, "row" jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
BEGIN
  RETURN (SELECT f."row" FROM idem_insert('payment', 't', $1, $2, 'op') f);
EXCEPTION WHEN OTHERS THEN
  RETURN to_jsonb(SQLSTATE);
END $$;
CREATE FUNCTION smith_hash(details jsonb, order_ref text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  RETURN idem_canonical($1) || idem_fingerprint(1, 'EUR', $1, order_ref => $2)::text;
EXCEPTION WHEN OTHERS THEN
  RETURN SQLSTATE;
END $$;

CREATE ROLE smith LOGIN;
GRANT ALL ON ALL TABLES IN SCHEMA public TO smith;
GRANT ALL ON ALL FUNCTIONS IN SCHEMA public TO smith;
GRANT ALL ON SCHEMA public TO smith;

-- sqlsmith calls whatever is in pg_proc. This one has the extension, the wrappers, and what makes values for them: no
-- function that ends or halts a session by design, and none of the many that refuse every argument it draws.
CREATE SCHEMA smith;
CREATE VIEW smith.pg_proc AS
SELECT * FROM pg_catalog.pg_proc
WHERE pronamespace = 'public'::regnamespace
  OR pronamespace = 'pg_catalog'::regnamespace AND proname IN (
    'lower', 'upper', 'reverse', 'repeat', 'left', 'right', 'replace', 'md5', 'chr', 'length', 'octet_length', 'abs',
    'int8', 'numeric', 'jsonb_set', 'jsonb_strip_nulls', 'jsonb_typeof', 'jsonb_extract_path_text', 'jsonb_array_length',
    'gen_random_uuid', 'now', 'string_to_array', 'array_to_string', 'text_concat', 'num_nulls', 'encode', 'sha256');
GRANT USAGE ON SCHEMA smith TO smith;
GRANT SELECT ON smith.pg_proc TO smith;
ALTER ROLE smith SET search_path = smith, pg_catalog, public;
ALTER ROLE smith SET statement_timeout = '1s';
