-- A request creates one row; sent again it gives that row back and changes nothing.

-- H01: the same call twice makes one row, and both calls answer with it.
SELECT outcome, amount_minor, currency, details, order_ref, created_at = now() AS created_now, transaction_id AS id
FROM idem_create_transaction('t1', 'k1', 1000, 'EUR', '{"note": "x"}', 'charge', 'order-1') \gset first_
\echo :first_outcome :first_amount_minor :first_currency :first_details :first_order_ref :first_created_now
SELECT outcome, transaction_id = :'first_id' AS same_id, amount_minor, currency, details, order_ref
FROM idem_create_transaction('t1', 'k1', 1000, 'EUR', '{"note": "x"}', 'charge', 'order-1');
SELECT tenant_id, id = :'first_id' AS same_id, operation, idempotency_key, hash_version, amount_minor, currency,
  order_ref, details,
  request_hash = idem_fingerprint(1000, 'EUR', '{"note": "x"}', 'charge', 'order-1') AS hash_of_the_request
FROM idem_transactions ORDER BY id;
DELETE FROM idem_transactions;

-- The id is a UUID of version 7 that starts with the time of the call.
SELECT transaction_id::text AS id, now() AS started FROM idem_create_transaction('t1', 'k1', 1, 'EUR') \gset
SELECT substr(:'id', 15, 1) AS version, substr(:'id', 20, 1) IN ('8', '9', 'a', 'b') AS variant,
  to_timestamp((('x' || lpad(replace(left(:'id', 13), '-', ''), 16, '0'))::bit(64)::bigint + 1) / 1000.0)
    BETWEEN :'started' AND clock_timestamp() + interval '1 ms' AS time;
DELETE FROM idem_transactions;

-- Named arguments and defaults; NULL details are the empty object.
SELECT outcome, amount_minor, currency, details, order_ref
FROM idem_create_transaction(tenant_id => 't1', idempotency_key => 'k1', amount_minor => 5, currency => 'EUR');
SELECT outcome, details FROM idem_create_transaction('t1', 'k1', 5, 'EUR', NULL, 'create-transaction', NULL);
SELECT outcome, details FROM idem_try_create_transaction(currency => 'EUR', amount_minor => 5, idempotency_key => 'k1',
  tenant_id => 't1', details => '{}', operation => 'create-transaction');
SELECT outcome, details FROM idem_create_transaction('t1', 'k2', 5, 'EUR', NULL, order_ref => 'o2');
SELECT idempotency_key, operation, order_ref, details FROM idem_transactions ORDER BY idempotency_key;
DELETE FROM idem_transactions;

-- Both calls have these arguments and result columns.
SELECT count(*), arguments FROM pg_proc, string_to_table(pg_get_function_arguments(oid), ', ') WITH ORDINALITY a(arguments, n)
WHERE proname IN ('idem_create_transaction', 'idem_try_create_transaction') GROUP BY n, arguments ORDER BY n;

-- A replay gives the values as first written, also where the request is written in another way.
SELECT outcome FROM idem_create_transaction('t1', 'k1', 7, 'EUR', '{"b": 1.50, "a": [1, 2e1]}');
SELECT outcome, details FROM idem_create_transaction('t1', 'k1', 7, 'EUR', '{"a": [1.0, 20], "b": 1.5}');
SELECT created_at AS written FROM idem_transactions \gset
SELECT outcome, created_at = :'written' AS first_time, created_at < now() AS earlier
FROM idem_try_create_transaction('t1', 'k1', 7, 'EUR', '{"a": [1, 20], "b": 1.500}');
DELETE FROM idem_transactions;

-- H19: one key serves each tenant and each operation, and each replay finds its own row.
CREATE TEMP TABLE request AS
  SELECT * FROM (VALUES ('t1', 'charge', 1), ('t1', 'refund', 2), ('t2', 'charge', 3), ('t2', 'refund', 4)) r(t, o, a);
SELECT t, o, outcome, amount_minor FROM request, idem_create_transaction(t, 'k', a, 'EUR', operation => o) ORDER BY t, o;
SELECT t, o, outcome, amount_minor FROM request, idem_create_transaction(t, 'k', a, 'EUR', operation => o) ORDER BY t, o;
SELECT count(*), count(DISTINCT id) AS ids FROM idem_transactions;
DROP TABLE request;
DELETE FROM idem_transactions;

-- A replay assigns no transaction id; a creation does.
SELECT outcome FROM idem_create_transaction('t1', 'k1', 1, 'EUR', '{}', 'charge', 'o1');
BEGIN;
SELECT outcome FROM idem_create_transaction('t1', 'k1', 1, 'EUR', '{}', 'charge', 'o1');
SELECT outcome FROM idem_try_create_transaction('t1', 'k1', 2, 'EUR', '{}', 'charge', 'o1');
SELECT outcome FROM idem_try_create_transaction('t1', 'k2', 1, 'EUR', '{}', 'charge', 'o1');
SELECT pg_current_xact_id_if_assigned() IS NULL AS no_xid;
SELECT outcome FROM idem_create_transaction('t1', 'k3', 1, 'EUR');
SELECT pg_current_xact_id_if_assigned() IS NULL AS no_xid;
COMMIT;

-- A replay writes no WAL. Only this backend's records are counted; a hint bit may cost one, so the best of three counts.
CREATE FUNCTION pg_temp.wal_records(call text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  plan json;
  best bigint;
BEGIN
  FOR attempt IN 1..3 LOOP
    EXECUTE 'EXPLAIN (ANALYZE, WAL, COSTS OFF, TIMING OFF, FORMAT JSON) ' || replace(call, '$', attempt::text) INTO plan;
    best := least(best, (plan->0->'Plan'->>'WAL Records')::bigint);
  END LOOP;
  RETURN best;
END $$;
SELECT pg_temp.wal_records($$SELECT * FROM idem_create_transaction('t1', 'k1', 1, 'EUR', '{}', 'charge', 'o1')$$) AS replay,
  pg_temp.wal_records($$SELECT * FROM idem_create_transaction('t1', 'k3', 1, 'EUR')$$) AS replay_without_order,
  pg_temp.wal_records($$SELECT * FROM idem_try_create_transaction('t1', 'k1', 9, 'EUR', '{}', 'charge')$$) AS conflict,
  pg_temp.wal_records($$SELECT * FROM idem_create_transaction('t1', 'new-$', 1, 'EUR')$$) > 0 AS creation_does;
DROP FUNCTION pg_temp.wal_records;
DELETE FROM idem_transactions;

-- A replay leaves no dead row version behind: the next new row takes the next place.
BEGIN;
TRUNCATE idem_transactions;
SELECT outcome FROM idem_create_transaction('t1', 'k1', 1, 'EUR', order_ref => 'o1');
SELECT outcome, count(*) FROM generate_series(1, 50) g, idem_create_transaction('t1', left('k1', 1 + sign(g)::int), 1, 'EUR',
  order_ref => 'o1') GROUP BY outcome;
SELECT outcome FROM idem_create_transaction('t1', 'k2', 1, 'EUR', order_ref => 'o2');
SELECT idempotency_key, ctid FROM idem_transactions ORDER BY ctid;
ROLLBACK;

-- H07: replays draw on no sequence, for there is none.
SELECT count(*) AS sequences FROM pg_depend d JOIN pg_class c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid
WHERE c.relkind = 'S' AND (d.refclassid, d.refobjid) IN (('pg_class'::regclass, 'idem_transactions'::regclass),
  ('pg_extension'::regclass, (SELECT oid FROM pg_extension WHERE extname = 'idem')));

-- H84: a call that depends on nothing is evaluated once by the planner's choice; one that depends on the row, each time.
SELECT f.outcome FROM generate_series(1, 3) g, LATERAL idem_create_transaction('t1', 'once', 1, 'EUR') f ORDER BY g;
SELECT f.outcome FROM generate_series(1, 3) g, LATERAL idem_create_transaction('t1', left('each', 4 + 0 * g), 1, 'EUR') f
ORDER BY g;
SELECT idempotency_key FROM idem_transactions ORDER BY idempotency_key;
DELETE FROM idem_transactions;

-- H10: one replay does not stop the rest of a statement.
SELECT outcome FROM idem_create_transaction('t1', 'k2', 1, 'EUR');
SELECT k, outcome FROM unnest(ARRAY['k1', 'k2', 'k3', 'k4', 'k5']) k, LATERAL idem_create_transaction('t1', k, 1, 'EUR')
ORDER BY k;
SELECT count(*) FROM idem_transactions;

-- H05: a replay does not abort the transaction, and its other writes commit.
CREATE TABLE other (n int);
BEGIN;
INSERT INTO other VALUES (1);
SELECT outcome FROM idem_create_transaction('t1', 'k2', 1, 'EUR');
SELECT 1 AS still_alive;
COMMIT;
SELECT n FROM other;
DROP TABLE other;
DELETE FROM idem_transactions;

-- H06: no call opens a subtransaction: every row carries the id of the transaction itself.
BEGIN;
SELECT outcome, count(*) FROM generate_series(1, 200) g,
  LATERAL idem_create_transaction('t1', 'k' || (g + 1) / 2, 1, 'EUR') GROUP BY outcome ORDER BY outcome;
SELECT count(*) AS rows, count(*) FILTER (WHERE xmin <> pg_current_xact_id()::xid) AS of_subtransactions
FROM idem_transactions;
ROLLBACK;

-- H12: what was rolled back is forgotten.
BEGIN;
SAVEPOINT s;
SELECT outcome, transaction_id AS id FROM idem_create_transaction('t1', 'k1', 100, 'EUR') \gset
\echo :outcome
ROLLBACK TO s;
SELECT outcome, amount_minor, transaction_id <> :'id' AS new_id FROM idem_create_transaction('t1', 'k1', 200, 'EUR');
COMMIT;
\set VERBOSITY sqlstate
SELECT outcome FROM idem_create_transaction('t1', 'k1', 100, 'EUR');
\set VERBOSITY default
SELECT amount_minor FROM idem_transactions;
DELETE FROM idem_transactions;
BEGIN;
SELECT outcome FROM idem_create_transaction('t1', 'k1', 1, 'EUR');
ROLLBACK;
SELECT count(*) FROM idem_transactions;

-- Both calls work from PL/pgSQL, prepared, and as a value.
PREPARE call AS SELECT outcome FROM idem_create_transaction($1, $2, $3, $4);
EXECUTE call('t1', 'k1', 1, 'EUR');
EXECUTE call('t1', 'k1', 1, 'EUR');
DEALLOCATE call;
DO $$
DECLARE
  answer record;
BEGIN
  FOR round IN 1..8 LOOP
    answer := idem_create_transaction('t1', 'k2', 1, 'EUR');
    ASSERT answer.outcome = CASE round WHEN 1 THEN 'created' ELSE 'replayed' END::idem_outcome, answer.outcome;
  END LOOP;
END $$;
SELECT (idem_create_transaction('t1', 'k2', 1, 'EUR')).outcome;
SELECT idempotency_key FROM idem_transactions ORDER BY idempotency_key;
DELETE FROM idem_transactions;
