-- Counters of calls, in shared memory

CREATE FUNCTION _idem_stats(
  OUT datid oid,
  OUT operation text,
  OUT created bigint,
  OUT replayed bigint,
  OUT conflict bigint,
  OUT order_taken bigint,
  OUT in_progress bigint,
  OUT serialization_failures bigint,
  OUT waits bigint,
  OUT wait_time double precision,
  OUT stats_reset timestamptz)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'idem_stats'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;

-- A database that was dropped has no name any more; its counts stay, so that sums never fall.
CREATE VIEW idem_stats AS
  SELECT s.datid, d.datname, s.operation, s.created, s.replayed, s.conflict, s.order_taken, s.in_progress,
    s.serialization_failures, s.waits, s.wait_time, s.stats_reset
  FROM _idem_stats() AS s
  LEFT JOIN pg_catalog.pg_database AS d ON d.oid OPERATOR(pg_catalog.=) s.datid;

COMMENT ON VIEW idem_stats IS
  'calls counted since the server''s start or the last reset, by database and operation; needs idem in shared_preload_libraries';
COMMENT ON COLUMN idem_stats.datid IS 'the database; NULL for all operations that found the table of counters full';
COMMENT ON COLUMN idem_stats.datname IS 'its name; NULL for a database that was dropped';
COMMENT ON COLUMN idem_stats.operation IS 'the operation of the calls, or (other)';
COMMENT ON COLUMN idem_stats.created IS 'calls that inserted a row, also where their transaction was rolled back later';
COMMENT ON COLUMN idem_stats.replayed IS 'calls that returned the stored row';
COMMENT ON COLUMN idem_stats.conflict IS 'calls whose key was used with other parameters: ID001, or that outcome';
COMMENT ON COLUMN idem_stats.order_taken IS 'calls whose order_ref has another transaction: ID003, or that outcome';
COMMENT ON COLUMN idem_stats.in_progress IS 'calls that idem.busy_timeout ended: ID002';
COMMENT ON COLUMN idem_stats.serialization_failures IS 'calls that ended with 40001';
COMMENT ON COLUMN idem_stats.waits IS 'inserts that waited for a lock';
COMMENT ON COLUMN idem_stats.wait_time IS 'how long they waited in all, in milliseconds';
COMMENT ON COLUMN idem_stats.stats_reset IS 'when the counters were at zero';

CREATE FUNCTION idem_stats_reset()
RETURNS void
AS 'MODULE_PATHNAME', 'idem_stats_reset'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION idem_stats_reset() IS 'set all counters of idem_stats to zero, those of other databases too';

-- The rows tell of other databases.
REVOKE ALL ON FUNCTION _idem_stats() FROM PUBLIC;
REVOKE ALL ON FUNCTION idem_stats_reset() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION _idem_stats() TO pg_read_all_stats;
GRANT SELECT ON idem_stats TO pg_read_all_stats;
