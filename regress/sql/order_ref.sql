-- One order makes one transaction per tenant and operation, whatever its key.
\set SHOW_CONTEXT never

SELECT outcome, order_ref FROM idem_create_transaction('t1', 'k1', 1000, 'EUR', '{}', 'charge', 'o1');

-- Another key for the same order is refused, also when the request is otherwise the same.
SELECT * FROM idem_create_transaction('t1', 'k2', 1000, 'EUR', '{}', 'charge', 'o1');
\set VERBOSITY sqlstate
SELECT * FROM idem_create_transaction('t1', 'k3', 2000, 'USD', '{}', 'charge', 'o1');
\set VERBOSITY default
BEGIN;
SELECT * FROM idem_try_create_transaction('t1', 'k2', 1000, 'EUR', '{}', 'charge', 'o1');
SELECT 1 AS still_alive;
COMMIT;

-- The refused key was not used up.
SELECT outcome FROM idem_create_transaction('t1', 'k2', 1000, 'EUR', '{}', 'charge', 'o2');

-- The key is looked at before the order: a replay, then a changed request.
SELECT outcome FROM idem_create_transaction('t1', 'k1', 1000, 'EUR', '{}', 'charge', 'o1');
\set VERBOSITY sqlstate
SELECT * FROM idem_create_transaction('t1', 'k1', 1000, 'EUR', '{}', 'charge', 'o2');
\set VERBOSITY default
SELECT outcome FROM idem_try_create_transaction('t1', 'k1', 1000, 'EUR', '{}', 'charge', 'o2');
SELECT outcome FROM idem_try_create_transaction('t1', 'k1', 1000, 'EUR', '{}', 'charge', 'free');

-- Another tenant, another operation and another spelling are other orders.
SELECT outcome FROM idem_create_transaction('t2', 'k1', 1000, 'EUR', '{}', 'charge', 'o1');
SELECT outcome FROM idem_create_transaction('t1', 'k3', 1000, 'EUR', '{}', 'refund', 'o1');
SELECT outcome FROM idem_create_transaction('t1', 'k4', 1000, 'EUR', '{}', 'charge', 'O1');

-- Requests without an order never meet.
SELECT outcome FROM idem_create_transaction('t1', 'k5', 1000, 'EUR', '{}', 'charge');
SELECT outcome FROM idem_create_transaction('t1', 'k6', 1000, 'EUR', '{}', 'charge');
SELECT tenant_id, operation, idempotency_key, order_ref FROM idem_transactions ORDER BY 1, 2, 3;

-- An order is free again where its transaction was rolled back.
BEGIN;
SELECT outcome FROM idem_create_transaction('t1', 'k7', 1000, 'EUR', '{}', 'charge', 'o7');
ROLLBACK;
SELECT outcome FROM idem_create_transaction('t1', 'k8', 1000, 'EUR', '{}', 'charge', 'o7');
DELETE FROM idem_transactions;

-- Within one statement the first key in order takes the order.
SELECT k, outcome FROM unnest(ARRAY['k1', 'k2', 'k1']) WITH ORDINALITY AS r(k, n),
  LATERAL idem_try_create_transaction('t1', k, 1, 'EUR', order_ref => 'o1') ORDER BY n;
DELETE FROM idem_transactions;
