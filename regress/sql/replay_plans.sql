-- Replays find their row through the index, however small the ledger is and however often it is planned anew; the
-- session's own setting of the planner stays as it is.
\set VERBOSITY sqlstate
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE SCHEMA regress_elsewhere;
TRUNCATE idem_transactions;
SELECT count(*) FROM generate_series(1, 5) g, LATERAL idem_create_transaction('t', 'k' || g, 1, 'EUR', order_ref => 'o' || g) f;
VACUUM ANALYZE idem_transactions;
EXPLAIN (COSTS OFF) SELECT FROM idem_transactions WHERE tenant_id = 't';

CREATE FUNCTION pg_temp.replay() RETURNS TABLE (outcome text, taken text) LANGUAGE sql AS $$
  SELECT a.outcome::text, b.outcome::text FROM public.idem_create_transaction('t', 'k1', 1, 'EUR', order_ref => 'o1') a,
    public.idem_try_create_transaction('t', 'new', 1, 'EUR', order_ref => 'o1') b
$$;
BEGIN;
SELECT seq_scan AS before FROM pg_stat_xact_user_tables WHERE relname = 'idem_transactions' \gset
SELECT * FROM pg_temp.replay();
SET LOCAL search_path = regress_elsewhere, public;
SELECT * FROM pg_temp.replay();
SET LOCAL search_path = '';
SELECT * FROM pg_temp.replay();
RESET search_path;
SELECT * FROM pg_temp.replay();
SET LOCAL plan_cache_mode = force_custom_plan;
SELECT * FROM pg_temp.replay();
SET LOCAL plan_cache_mode = force_generic_plan;
SELECT * FROM pg_temp.replay();
DISCARD PLANS;
SELECT * FROM pg_temp.replay();
SELECT seq_scan - :before AS seq_scan, idx_scan > 0 AS indexed FROM pg_stat_xact_user_tables
WHERE relname = 'idem_transactions';
COMMIT;

-- In a partition that was analyzed after the plan was made.
BEGIN;
DROP EXTENSION idem;
ALTER TABLE idem_transactions RENAME TO regress_plain;
CREATE TABLE idem_transactions (LIKE regress_plain INCLUDING DEFAULTS,
  PRIMARY KEY (tenant_id, id), UNIQUE (tenant_id, operation, idempotency_key)) PARTITION BY HASH (tenant_id);
CREATE UNIQUE INDEX ON idem_transactions (tenant_id, operation, order_ref);
CREATE TABLE part_0 PARTITION OF idem_transactions FOR VALUES WITH (MODULUS 1, REMAINDER 0);
CREATE EXTENSION idem;
SELECT count(*) FROM generate_series(1, 5) g, LATERAL idem_create_transaction('t', 'k' || g, 1, 'EUR', order_ref => 'o' || g) f;
SELECT outcome FROM idem_create_transaction('t', 'k1', 1, 'EUR', order_ref => 'o1');
ANALYZE part_0;
SELECT seq_scan AS before FROM pg_stat_xact_user_tables WHERE relname = 'part_0' \gset
SELECT outcome FROM idem_create_transaction('t', 'k1', 1, 'EUR', order_ref => 'o1');
SET LOCAL search_path = regress_elsewhere, public;
SELECT outcome FROM idem_create_transaction('t', 'k1', 1, 'EUR', order_ref => 'o1');
SELECT outcome FROM idem_try_create_transaction('t', 'new', 1, 'EUR', order_ref => 'o1');
SELECT seq_scan - :before AS seq_scan, idx_scan > 0 AS indexed FROM pg_stat_xact_user_tables WHERE relname = 'part_0';
ROLLBACK;

-- The setting after a call, and after a failed one.
SHOW enable_seqscan;
SELECT idem_create_transaction('t', 'k1', 2, 'EUR');
SHOW enable_seqscan;
SELECT idem_create_transaction('t', '', 2, 'EUR');
SHOW enable_seqscan;
\set VERBOSITY terse
DO $$
BEGIN
  PERFORM idem_create_transaction('t', 'k1', 2, 'EUR');
EXCEPTION WHEN OTHERS THEN
  RAISE WARNING '%', current_setting('enable_seqscan');
END $$;
\set VERBOSITY sqlstate
SET enable_seqscan = off;
SELECT outcome FROM idem_create_transaction('t', 'new', 1, 'EUR');
SELECT idem_create_transaction('t', 'k1', 2, 'EUR');
SHOW enable_seqscan;
RESET enable_seqscan;
DROP SCHEMA regress_elsewhere;
DELETE FROM idem_transactions;
