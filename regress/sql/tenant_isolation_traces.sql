-- Under tenant isolation a call for another tenant looks at the same number of pages and rows whether that tenant has the
-- key, the order or nothing: what it finds there does not show in the time that it takes.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
DROP ROLE IF EXISTS regress_idem_app;
CREATE ROLE regress_idem_app;
SELECT idem_grant('regress_idem_app');
CREATE TABLE regress_pay (id int, tenant_id text NOT NULL, idempotency_key text NOT NULL, request_hash bytea, amount int,
  UNIQUE (tenant_id, idempotency_key));
SELECT idem_attach('regress_pay', fixed_operation => 'pay', id_column => NULL);
GRANT SELECT, INSERT ON regress_pay TO regress_idem_app;
SELECT count(*) FROM generate_series(1, 1000) AS g,
  LATERAL idem_create_transaction('tenant-' || g % 5, 'k' || g, g, 'EUR', order_ref => 'o' || g),
  LATERAL idem_insert('regress_pay', 'tenant-' || g % 5, 'k' || g, jsonb_build_object('amount', g));
ANALYZE idem_transactions, regress_pay;
SELECT idem_enable_tenant_isolation();

-- The pages and rows of the tables and their indexes that a call looks at.
CREATE FUNCTION pg_temp.looked_at(OUT pages bigint, OUT "rows" bigint) LANGUAGE sql VOLATILE AS $$
  SELECT sum(pg_stat_get_xact_blocks_fetched(c.oid)), sum(pg_stat_get_xact_tuples_returned(c.oid) + pg_stat_get_xact_tuples_fetched(c.oid))
  FROM pg_class AS c
  WHERE c.oid IN ('idem_transactions'::regclass, 'regress_pay'::regclass)
    OR c.oid IN (SELECT indexrelid FROM pg_index WHERE indrelid IN ('idem_transactions'::regclass, 'regress_pay'::regclass))
$$;
CREATE FUNCTION pg_temp.touched(call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  before record;
  after record;
  answer text := 'ok';
BEGIN
  before := pg_temp.looked_at();
  BEGIN
    EXECUTE call;
  EXCEPTION WHEN OTHERS THEN
    answer := SQLSTATE;
  END;
  after := pg_temp.looked_at();
  RETURN format('%s: %s pages, %s rows', answer, after.pages - before.pages, after."rows" - before."rows");
END $$;
GRANT EXECUTE ON FUNCTION pg_temp.looked_at, pg_temp.touched TO regress_idem_app;
CREATE TEMP TABLE call AS
  SELECT f.name || ' ' || a.name AS name, format(f.call, a.tenant, a.key, a.order_ref) AS statement, f.name AS kind, a.tenant = 'tenant-2' AS own
  FROM (VALUES
      ('create', $$SELECT idem_create_transaction('%s', '%s', 1, 'EUR', order_ref => '%s')$$),
      ('try', $$SELECT idem_try_create_transaction('%s', '%s', 1, 'EUR', order_ref => '%s')$$),
      ('batch', $$SELECT idem_create_transactions('{%s}', '{%s}', '{1}', '{EUR}', order_refs => '{%s}')$$),
      ('insert', $$SELECT idem_insert('regress_pay', '%s', '%s', '{"amount": 1}')$$)) AS f (name, call),
    (VALUES
      ('that exists', 'tenant-1', 'k1', 'o1'), ('that differs', 'tenant-1', 'k6', 'o6'), ('with an order that exists', 'tenant-1', 'new', 'o11'),
      ('that is new', 'tenant-1', 'new', 'new'), ('of a tenant that is new', 'tenant-9', 'new', 'new'),
      ('of its own', 'tenant-2', 'k2', 'o2')) AS a (name, tenant, key, order_ref);
GRANT SELECT ON call TO regress_idem_app;
SET ROLE regress_idem_app;
SET idem.tenant_id = 'tenant-2';
BEGIN;
-- Plans and what the session knows of the tables are made by the first calls.
SELECT count(pg_temp.touched(statement)) FROM call;
SELECT kind, count(*) AS calls, count(DISTINCT pg_temp.touched(statement)) AS different, min(left(pg_temp.touched(statement), 5)) AS answer
FROM call WHERE NOT own GROUP BY kind ORDER BY kind;
-- The figures tell something: calls for its own tenant look at rows.
SELECT count(*) FILTER (WHERE pg_temp.touched(statement) !~ ' 0 rows') > 0 AS looked FROM call WHERE own;
ROLLBACK;
RESET ROLE;
SELECT idem_disable_tenant_isolation();
DROP TABLE regress_pay;
DELETE FROM idem_transactions;
DROP TABLE call;
DROP OWNED BY regress_idem_app;
DROP ROLE regress_idem_app;
