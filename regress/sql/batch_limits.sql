-- What is refused as a whole: arrays that do not fit each other, an unknown mode, too many requests.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
SELECT * FROM idem_create_transactions('{t}', '{k1,k2}', '{1,2,3}', '{EUR}');
SELECT * FROM idem_create_transactions('{t}', '{k1}', '{1,2}', '{EUR}');
\set VERBOSITY sqlstate
SELECT * FROM idem_create_transactions('{}', '{k1}', '{1}', '{EUR}');
SELECT * FROM idem_create_transactions('{t,t}', '{k1,k2,k3}', '{1}', '{EUR}');
SELECT * FROM idem_create_transactions('{t}', '{k1,k2,k3}', '{1}', '{EUR,EUR}');
SELECT * FROM idem_create_transactions('{t}', '{k1,k2,k3}', '{1}', '{EUR}', '{"{}","{}"}');
SELECT * FROM idem_create_transactions('{t}', '{k1,k2,k3}', '{1}', '{EUR}', operations => '{a,b}');
SELECT * FROM idem_create_transactions('{t}', '{k1,k2,k3}', '{1}', '{EUR}', order_refs => '{a,b}');
SELECT * FROM idem_create_transactions('{t}', '{k1,k2,k3}', '{1}', '{EUR}', order_refs => '{}');
-- Dimensions.
SELECT * FROM idem_create_transactions('{{t}}', '{k1}', '{1}', '{EUR}');
SELECT * FROM idem_create_transactions('{t}', '{{k1,k2}}', '{1}', '{EUR}');
SELECT * FROM idem_create_transactions('{t}', '{k1}', '{1}', '{EUR}', order_refs => '{{o}}');
-- NULL for an array that must be there, and for the mode.
SELECT * FROM idem_create_transactions(NULL, '{k1}', '{1}', '{EUR}');
SELECT * FROM idem_create_transactions('{t}', NULL, '{1}', '{EUR}');
SELECT * FROM idem_create_transactions('{t}', '{k1}', NULL, '{EUR}');
SELECT * FROM idem_create_transactions('{t}', '{k1}', '{1}', NULL);
SELECT * FROM idem_create_transactions('{t}', '{k1}', '{1}', '{EUR}', mode => NULL);
SELECT * FROM idem_create_transactions('{t}', '{k1}', '{1}', '{EUR}', mode => 'any');
SELECT * FROM idem_create_transactions('{t}', '{k1}', '{1}', '{EUR}', mode => '');
-- 100,000 requests, and one more.
SELECT count(*), min(sqlstate), max(sqlstate) FROM idem_create_transactions('{t}', array_fill('k'::text, ARRAY[100000]), '{0}', '{EUR}');
SELECT * FROM idem_create_transactions('{t}', array_fill('k'::text, ARRAY[100001]), '{1}', '{EUR}');
-- The function that feeds the statements is of no use to others.
SELECT * FROM _idem_batch_rows();
-- A read-only transaction, before anything else.
BEGIN READ ONLY;
SELECT * FROM idem_create_transactions(NULL, NULL, NULL, NULL);
ROLLBACK;
SELECT count(*) FROM idem_transactions;
-- No ledger.
BEGIN;
ALTER TABLE idem_transactions RENAME TO regress_elsewhere;
SELECT * FROM idem_create_transactions('{t}', '{k1}', '{1}', '{EUR}');
ROLLBACK;
