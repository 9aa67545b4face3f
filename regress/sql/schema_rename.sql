-- The schema of the extension may be renamed in the middle of a session, after plans were made and kept.
BEGIN;
DROP EXTENSION idem;
CREATE SCHEMA regress_before;
CREATE EXTENSION idem SCHEMA regress_before;
SELECT outcome FROM regress_before.idem_create_transaction('t', 'k', 1, 'EUR', order_ref => 'o');
SELECT outcome FROM regress_before.idem_try_create_transaction('t', 'k2', 1, 'EUR', order_ref => 'o');
ALTER SCHEMA regress_before RENAME TO "Regress After";
SELECT outcome FROM "Regress After".idem_create_transaction('t', 'k', 1, 'EUR', order_ref => 'o');
SELECT outcome FROM "Regress After".idem_try_create_transaction('t', 'k2', 1, 'EUR', order_ref => 'o');
SELECT outcome FROM "Regress After".idem_create_transaction('t', 'k3', 1, 'EUR');
SELECT "Regress After".idem_create_ledger();
-- Another one takes the old name, with a table of the same name in it: it is not used.
CREATE SCHEMA regress_before;
CREATE TABLE regress_before.idem_transactions (LIKE "Regress After".idem_transactions INCLUDING ALL);
SELECT outcome FROM "Regress After".idem_create_transaction('t', 'k4', 1, 'EUR', order_ref => 'o4');
SELECT outcome FROM "Regress After".idem_create_transaction('t', 'k4', 1, 'EUR', order_ref => 'o4');
SELECT count(*) FROM regress_before.idem_transactions;
SELECT idempotency_key FROM "Regress After".idem_transactions ORDER BY 1;
ROLLBACK;
SELECT outcome FROM idem_create_transaction('t', 'k', 1, 'EUR');
DELETE FROM idem_transactions;
