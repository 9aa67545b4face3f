-- Rows of a table that inherits from the ledger are none of the ledger's: no unique key covers them.
\set VERBOSITY sqlstate
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE TABLE regress_child () INHERITS (idem_transactions);
INSERT INTO regress_child (tenant_id, id, operation, idempotency_key, request_hash, hash_version, amount_minor, currency, order_ref)
VALUES ('t', gen_random_uuid(), 'create-transaction', 'child', sha256('1'), 1, 1, 'EUR', NULL),
  ('t', gen_random_uuid(), 'create-transaction', 'both', sha256('9'), 1, 9, 'EUR', 'child-order');

-- A key and an order_ref that only the child has.
SELECT outcome, amount_minor FROM idem_create_transaction('t', 'child', 1, 'EUR');
SELECT outcome, amount_minor FROM idem_create_transaction('t', 'child', 1, 'EUR');
SELECT idem_create_transaction('t', 'child', 2, 'EUR');
SELECT outcome FROM idem_create_transaction('t', 'order', 1, 'EUR', order_ref => 'child-order');
SELECT outcome FROM idem_try_create_transaction('t', 'order2', 1, 'EUR', order_ref => 'child-order');
-- One that both have, also where an order stands in the way and the row is looked for.
SELECT outcome, amount_minor FROM idem_create_transaction('t', 'both', 1, 'EUR', order_ref => 'o');
SELECT outcome, amount_minor FROM idem_create_transaction('t', 'both', 1, 'EUR', order_ref => 'o');
SELECT outcome FROM idem_try_create_transaction('t', 'child2', 1, 'EUR', order_ref => 'o');
UPDATE regress_child SET idempotency_key = 'only' WHERE idempotency_key = 'both';
SELECT outcome FROM idem_try_create_transaction('t', 'only', 1, 'EUR', order_ref => 'o');
SELECT outcome FROM idem_create_transaction('t', 'only', 1, 'EUR', order_ref => 'o2');
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT outcome, amount_minor FROM idem_create_transaction('t', 'both', 1, 'EUR', order_ref => 'o');
COMMIT;
SELECT tableoid::regclass, idempotency_key, amount_minor, order_ref FROM idem_transactions ORDER BY 1, 2;
DROP TABLE regress_child;
SELECT outcome FROM idem_create_transaction('t', 'child', 1, 'EUR');
DELETE FROM idem_transactions;
