-- Many requests in one call: one row for each, in the order of the input.
\set VERBOSITY sqlstate
\set SHOW_CONTEXT never
SET client_min_messages = warning;
TRUNCATE idem_transactions;

-- H10: one replay does not stop the rest.
SELECT outcome FROM idem_create_transaction('t', 'k2', 2, 'EUR');
SELECT ord, outcome, sqlstate, transaction_id = (SELECT id FROM idem_transactions WHERE idempotency_key = 'k' || ord) AS own_id,
  created_at = now() AS now
FROM idem_create_transactions(ARRAY['t'], ARRAY['k1', 'k2', 'k3', 'k4', 'k5'], ARRAY[1, 2, 3, 4, 5]::bigint[], ARRAY['EUR']);
SELECT idempotency_key, operation, amount_minor, currency, order_ref, details,
  request_hash = idem_fingerprint(amount_minor, currency, details, operation, order_ref) AS hash, hash_version
FROM idem_transactions ORDER BY 1;
-- What a batch made, a single call replays, and the other way round.
SELECT outcome FROM idem_create_transaction('t', 'k5', 5, 'EUR');
DELETE FROM idem_transactions;

-- Every argument by itself, and NULL where the single call takes one.
SELECT ord, outcome, sqlstate FROM idem_create_transactions(
  ARRAY['t1', 't2', 't1'], ARRAY['k', 'k', 'k'], ARRAY[1, 2, 3]::bigint[], ARRAY['EUR', 'USD', 'JPY'],
  ARRAY['{"a": 1}', NULL, '{}']::jsonb[], ARRAY['pay', 'pay', 'refund'], ARRAY['o1', 'o1', NULL]);
SELECT tenant_id, operation, idempotency_key, amount_minor, currency, order_ref, details FROM idem_transactions ORDER BY 1, 2;
DELETE FROM idem_transactions;

-- Arrays of one element are everybody's; what is left out, or NULL, has the default of the single call.
SELECT ord, outcome FROM idem_create_transactions(ARRAY['t'], ARRAY['k1', 'k2'], ARRAY[7]::bigint[], ARRAY['EUR'],
  ARRAY['{"a": 1}']::jsonb[], ARRAY['pay']);
SELECT ord, outcome FROM idem_create_transactions(ARRAY['t'], ARRAY['k3'], ARRAY[7]::bigint[], ARRAY['EUR'], NULL, NULL, NULL);
SELECT ord, outcome FROM idem_create_transactions('[5:5]={t}', '[3:4]={k4,k5}', '{7}', '{EUR}');
SELECT operation, idempotency_key, amount_minor, currency, order_ref, details FROM idem_transactions ORDER BY idempotency_key;
SELECT outcome FROM idem_create_transaction('t', 'k3', 7, 'EUR');
SELECT count(*) FROM idem_create_transactions('{t}', '{}', '{7}', '{EUR}');
SELECT count(*) FROM idem_create_transactions('{}', '{}', '{}', '{}', '{}', '{}', '{}');
DELETE FROM idem_transactions;

-- A key twice: the first one wins, whatever the order of the keys.
SELECT ord, outcome, sqlstate,
  CASE WHEN transaction_id IS NOT NULL THEN min(ord) OVER (PARTITION BY transaction_id) END AS row_of FROM idem_create_transactions('{t}',
  '{b,a,b,a,b,c}', '{1,2,1,9,8,3}', '{EUR}') ORDER BY ord;
SELECT idempotency_key, amount_minor FROM idem_transactions ORDER BY 1;
-- Against a stored row each is compared with that.
SELECT ord, outcome, sqlstate FROM idem_create_transactions('{t}', '{a,a,a}', '{9,2,9}', '{EUR}');
DELETE FROM idem_transactions;

-- An order twice: the first one in the input gets it, whatever the order of the keys.
SELECT ord, outcome, sqlstate, transaction_id IS NULL AS no_id, created_at IS NULL AS no_time
FROM idem_create_transactions('{t}', '{b,a,c,b}', '{1}', '{EUR}', order_refs => '{o1,o1,o2,o1}');
SELECT idempotency_key, order_ref FROM idem_transactions ORDER BY 1;
SELECT ord, outcome, sqlstate FROM idem_create_transactions('{t}', '{x,y,z}', '{1}', '{EUR}', order_refs => '{o1,o3,o2}');
-- A row that could not have the order leaves it to the next one; so does one that is a conflict.
SELECT ord, outcome FROM idem_create_transactions('{t}', '{v,v,w,b,u}', '{1}', '{EUR}', order_refs => '{o1,o4,o4,o5,o5}');
SELECT idempotency_key, order_ref FROM idem_transactions ORDER BY 1;
DELETE FROM idem_transactions;
-- A row between that claims the key: what comes after it meets that.
SELECT outcome FROM idem_create_transaction('t', 'owner', 1, 'EUR', order_ref => 'o1');
SELECT ord, outcome FROM idem_create_transactions('{t}', '{k,k,k}', '{1}', '{EUR}', order_refs => '{o1,NULL,o1}');
DELETE FROM idem_transactions;

-- Malformed requests say so and claim nothing; the rest is stored.
SELECT ord, outcome, sqlstate, transaction_id, created_at IS NULL AS no_time FROM idem_create_transactions(
  ARRAY['t', NULL, 't', 't', 't', 't', 't', 't', 't', 't', 't', 't'],
  ARRAY['', 'k2', NULL, 'k4', 'k5', 'k6', 'k7', 'k8', 'k9', 'k4', ' k', repeat('k', 256)],
  ARRAY[1, 1, 1, 0, NULL, 1, 1, 1, 1, -1, 1, 1]::bigint[],
  ARRAY['EUR', 'EUR', 'EUR', 'EUR', 'EUR', 'eur', NULL, 'EUR', 'EUR', 'EUR', 'EUR', 'EUR'],
  ARRAY[NULL, NULL, NULL, NULL, NULL, NULL, NULL, '[]', NULL, NULL, NULL, NULL]::jsonb[],
  ARRAY['o', 'o', 'o', 'o', 'o', 'o', 'o', 'o', NULL, 'o', 'o', 'o'],
  ARRAY[NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '', NULL, NULL]);
SELECT ord, outcome, sqlstate FROM idem_create_transactions('{t}', '{k1,k2,k1,k3}', '{0,1,1,1}', '{EUR}', order_refs => '{o1,o1,NULL,o2}');
SELECT idempotency_key, order_ref FROM idem_transactions ORDER BY 1;
-- A document whose nesting exhausts the stack.
CREATE TEMP TABLE deep AS SELECT (repeat('{"a":', 2500) || '1' || repeat('}', 2500))::jsonb AS document;
SET max_stack_depth = '200kB';
SELECT ord, outcome, sqlstate FROM deep, idem_create_transactions('{t}', '{deep,flat}', '{1}', '{EUR}', ARRAY[document, '{"a": 1}']);
SELECT idem_try_create_transaction('t', 'deep', 1, 'EUR', document) FROM deep;
RESET max_stack_depth;
DROP TABLE deep;
DELETE FROM idem_transactions;

-- Mode all raises the first one that is neither created nor replayed, and stores nothing.
\set VERBOSITY default
SELECT ord, outcome FROM idem_create_transactions('{t}', '{k1,k2}', '{1,2}', '{EUR}', order_refs => '{o1,NULL}', mode => 'all');
SELECT ord, outcome FROM idem_create_transactions('{t}', '{k3,k1,k3}', '{1}', '{EUR}', order_refs => '{NULL,o1,NULL}', mode => 'all');
SELECT * FROM idem_create_transactions('{t}', '{k9,k1,k2}', '{1,1,3}', '{EUR}', '{"{\"a\": 1}"}', order_refs => '{NULL,o1,NULL}', mode => 'all');
SELECT * FROM idem_create_transactions('{t}', '{k9,k2,k1}', '{1,2,7}', '{EUR}', order_refs => '{o1,NULL,NULL}', mode => 'all');
SELECT * FROM idem_create_transactions('{t}', '{k9,k9}', '{1,2}', '{EUR}', mode => 'all');
SELECT * FROM idem_create_transactions('{t}', '{k1,k9,NULL}', '{7,0,1}', '{EUR}', mode => 'all');
SELECT * FROM idem_create_transactions(ARRAY['t'], ARRAY['k8', repeat('k', 256)], '{1}', '{EUR}', mode => 'all');
\set VERBOSITY sqlstate
SELECT count(*) FROM idem_transactions;
DELETE FROM idem_transactions;

-- A batch of replays and conflicts changes nothing.
SELECT count(*) FROM idem_create_transactions('{t}', (SELECT array_agg('k' || g) FROM generate_series(1, 100) g), '{1}', '{EUR}');
BEGIN;
SELECT outcome, count(*) FROM idem_create_transactions('{t}',
  (SELECT array_agg('k' || g) FROM generate_series(1, 100) g), (SELECT array_agg(1 + g / 91) FROM generate_series(1, 100) g), '{EUR}')
GROUP BY outcome ORDER BY outcome;
SELECT pg_current_xact_id_if_assigned() IS NULL AS no_xid;
COMMIT;

-- It rolls back with the caller, and the caller goes on after an error in a savepoint.
BEGIN;
SELECT count(*) FROM idem_create_transactions('{t}', '{r1,r2}', '{1}', '{EUR}');
SAVEPOINT s;
SELECT * FROM idem_create_transactions('{t}', '{r3,r1}', '{1,2}', '{EUR}', mode => 'all');
ROLLBACK TO s;
SELECT ord, outcome FROM idem_create_transactions('{t}', '{r3,r1}', '{1}', '{EUR}', mode => 'all');
ROLLBACK;
SELECT ord, outcome FROM idem_create_transactions('{t}', '{r1,r3}', '{5}', '{EUR}');

-- In a select list, a lateral join and a prepared statement.
SELECT (idem_create_transactions('{t}', '{s1,s2}', '{5}', '{EUR}')).ord;
SELECT g, f.ord, f.outcome FROM generate_series(1, 2) g, LATERAL idem_create_transactions('{t}', ARRAY['l' || g, 'l'], '{5}', '{EUR}') f;
PREPARE batch(text[], bigint[]) AS SELECT ord, outcome FROM idem_create_transactions('{t}', $1, $2, '{EUR}');
EXECUTE batch('{p1,p2}', '{1,2}');
EXECUTE batch('{p1,p2}', '{1,3}');
DEALLOCATE batch;
DELETE FROM idem_transactions;
