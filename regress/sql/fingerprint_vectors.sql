-- The server agrees with every vector of fingerprint version 1. All is compared inside the server.
\getenv folder PG_ABS_SRCDIR
\set file :folder '/data/fingerprint-v1.json'
\set content `cat :'file'`

CREATE TEMP TABLE vector AS
  SELECT v->>'name' AS name, (v->>'amount_minor')::bigint AS amount_minor, v->>'currency' AS currency,
    v->>'operation' AS operation, v->>'order_ref' AS order_ref, v->>'details' AS details, v->>'canonical' AS canonical,
    v->>'request_hash' AS request_hash
  FROM json_array_elements(:'content'::json->'vectors') v;
SELECT count(*) AS vectors, count(DISTINCT name) AS names, count(request_hash) AS hashes, min(length(request_hash)) AS digits
FROM vector;

-- The canonical form of the whole request.
SELECT name FROM vector
WHERE idem_canonical(jsonb_build_object('amount_minor', amount_minor, 'currency', currency, 'details', details::jsonb,
  'operation', operation, 'order_ref', order_ref)) IS DISTINCT FROM canonical
ORDER BY name COLLATE "C";

-- The hash, of the request and of the stated text.
SELECT name FROM vector
WHERE encode(idem_fingerprint(amount_minor, currency, details::jsonb, operation, order_ref), 'hex') IS DISTINCT FROM request_hash
  OR encode(sha256(convert_to(canonical, 'UTF8')), 'hex') IS DISTINCT FROM request_hash
ORDER BY name COLLATE "C";

-- What a call stores. Each vector is a tenant of its own, so that no two meet on an order.
SELECT count(*) FILTER (WHERE outcome = 'created') AS created
FROM vector, LATERAL idem_create_transaction(name, 'k', amount_minor, currency, details::jsonb, operation, order_ref);
SELECT count(*) FILTER (WHERE outcome = 'replayed') AS replayed
FROM vector, LATERAL idem_create_transaction(name, 'k', amount_minor, currency, canonical::jsonb->'details', operation, order_ref);
SELECT name FROM vector LEFT JOIN idem_transactions ON tenant_id = name
WHERE vector.request_hash IS DISTINCT FROM encode(idem_transactions.request_hash, 'hex')
ORDER BY name COLLATE "C";
DELETE FROM idem_transactions;
DROP TABLE vector;
