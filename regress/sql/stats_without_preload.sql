-- A server that does not preload the library counts nothing, and says so; calls do not care.
SELECT outcome FROM idem_create_transaction('uncounted', 'k1', 1, 'EUR');
SELECT * FROM idem_stats;
SELECT idem_stats_reset();
\set VERBOSITY sqlstate
SELECT count(*) FROM idem_stats;
SELECT idem_stats_reset();
\set VERBOSITY default

-- The rows tell of other databases: they are for those who may read all statistics, and the reset is for the owner.
SELECT has_table_privilege(r, 'idem_stats', 'SELECT') AS view, has_function_privilege(r, '_idem_stats()', 'EXECUTE') AS function,
  has_function_privilege(r, 'idem_stats_reset()', 'EXECUTE') AS reset, has_table_privilege(r, 'idem_stats', 'UPDATE') AS change
FROM unnest(ARRAY['public', 'pg_read_all_stats', 'pg_monitor']) WITH ORDINALITY AS roles (r, n) ORDER BY n;

-- The columns, and what they are.
SELECT a.attname, format_type(a.atttypid, NULL) AS type, col_description(a.attrelid, a.attnum) IS NOT NULL AS described
FROM pg_attribute a WHERE a.attrelid = 'idem_stats'::regclass AND a.attnum > 0 ORDER BY a.attnum;
SELECT provolatile, proisstrict, proparallel, proretset FROM pg_proc WHERE proname IN ('_idem_stats', 'idem_stats_reset')
ORDER BY proname COLLATE "C";

DELETE FROM idem_transactions WHERE tenant_id = 'uncounted';
