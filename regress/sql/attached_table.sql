-- A table of the user's own: attached, written to through idem_insert, renamed, dropped.
CREATE TABLE payment (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tenant_id text NOT NULL,
  operation text NOT NULL,
  idempotency_key text NOT NULL,
  request_hash bytea,
  invoice_no text UNIQUE,
  amount numeric(10,2) NOT NULL CHECK (amount > 0),
  meta jsonb,
  state text NOT NULL DEFAULT 'new',
  UNIQUE (idempotency_key, tenant_id, operation) INCLUDE (amount));
\set VERBOSITY sqlstate
SELECT idem_insert('payment', 't1', 'k1', '{"amount": 1}', 'pay');
SELECT idem_attach('payment');
SELECT target_name, tenant_column, operation_column, fixed_operation, key_column, hash_column, id_column, exclude
FROM idem_tables;
-- The first call inserts the row, a second one replays it, also where numbers are written in another way.
SELECT outcome, "row" - 'request_hash' AS "row"
FROM idem_insert('payment', 't1', 'k1', '{"amount": 1.5, "invoice_no": "i-1", "meta": {"a": [1, 2], "b": null}}', 'pay');
SELECT outcome, "row" - 'request_hash' AS "row"
FROM idem_insert('payment', 't1', 'k1', '{"meta": {"b": null, "a": [1, 2.0]}, "amount": 1.50, "invoice_no": "i-1"}', 'pay');
-- Another tenant or operation is another scope.
SELECT outcome, "row" ->> 'id' AS id FROM idem_insert('payment', 't2', 'k1', '{"amount": 1}', 'pay');
SELECT outcome, "row" ->> 'id' AS id FROM idem_insert('payment', 't1', 'k1', '{"amount": 1}', 'refund');
-- A changed row is a conflict, which names the places.
\set VERBOSITY default
SELECT * FROM idem_insert('payment', 't1', 'k1', '{"amount": 2, "invoice_no": "i-1", "meta": {"a": [1, 3], "b": null}}', 'pay');
SELECT * FROM idem_insert('payment', 't1', 'k1', '{"amount": 1.5, "invoice_no": "i-1"}', 'pay');
SELECT * FROM idem_try_insert('payment', 't1', 'k1', '{"amount": 2}', 'pay');
-- A clash on another key is what it is, also with a row of the same tenant; nothing is stored.
\set SHOW_CONTEXT never
SELECT * FROM idem_insert('payment', 't1', 'k2', '{"amount": 1, "invoice_no": "i-1"}', 'pay');
SELECT * FROM idem_try_insert('payment', 't1', 'k2', '{"amount": 1, "invoice_no": "i-1"}', 'pay');
-- Columns that the table has not, and those that are not the caller's to give.
SELECT * FROM idem_insert('payment', 't1', 'k2', '{"amount": 1, "invoce_no": "i-2"}', 'pay');
SELECT * FROM idem_insert('payment', 't1', 'k2', '{"amount": 1, "ctid": "(0,1)"}', 'pay');
SELECT * FROM idem_insert('payment', 't1', 'k2', '{"amount": 1, "tenant_id": "t2"}', 'pay');
SELECT * FROM idem_insert('payment', 't1', 'k2', '{"amount": 1, "request_hash": "\\x00"}', 'pay');
\set VERBOSITY sqlstate
SELECT tenant_id, operation, idempotency_key, amount, length(request_hash) FROM payment ORDER BY id;
-- The registry follows what is renamed, and calls go on.
CREATE SCHEMA regress_idem;
ALTER TABLE payment RENAME COLUMN idempotency_key TO "Key";
ALTER TABLE payment RENAME TO "Pay ment";
ALTER TABLE "Pay ment" SET SCHEMA regress_idem;
ALTER SCHEMA regress_idem RENAME TO "regress.idem";
ALTER TABLE "regress.idem"."Pay ment" RENAME CONSTRAINT payment_idempotency_key_tenant_id_operation_amount_key TO x;
ALTER INDEX "regress.idem"."x" RENAME TO y;
SELECT target_name, key_column FROM idem_tables;
SELECT outcome FROM idem_insert('"regress.idem"."Pay ment"', 't1', 'k1', '{"amount": 1}', 'refund');
SELECT outcome FROM idem_insert('"regress.idem"."Pay ment"', 't1', 'k3', '{"amount": 1}', 'pay');
-- Detached, it is a table like any other; dropped, it is forgotten.
SELECT idem_detach('"regress.idem"."Pay ment"');
SELECT idem_insert('"regress.idem"."Pay ment"', 't1', 'k4', '{"amount": 1}', 'pay');
SELECT idem_detach('"regress.idem"."Pay ment"');
SELECT idem_attach('"regress.idem"."Pay ment"', key_column => 'Key');
SELECT count(*) FROM idem_tables;
DROP SCHEMA "regress.idem" CASCADE;
SELECT count(*) FROM idem_tables;
