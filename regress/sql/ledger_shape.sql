-- A table that cannot keep the promise is refused by the call, and the message says what is wrong with it.
\set SHOW_CONTEXT never
SET client_min_messages = warning;

-- What a call says after this change, which is undone with it.
CREATE FUNCTION pg_temp.refusal(VARIADIC changes text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  change text;
  answer text;
  detail text;
BEGIN
  PERFORM idem_create_transaction('t', 'before', 1, 'EUR');
  FOREACH change IN ARRAY changes LOOP
    EXECUTE change;
  END LOOP;
  FOREACH change IN ARRAY ARRAY['idem_create_transaction(''t'', ''k'', 1, ''EUR'')', 'idem_create_ledger()'] LOOP
    BEGIN
      EXECUTE 'SELECT ' || change;
      answer := concat_ws(' / ', answer, 'served');
    EXCEPTION WHEN OTHERS THEN
      GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
      answer := concat_ws(' / ', answer, concat_ws(' ', SQLSTATE, nullif(detail, '')));
    END;
  END LOOP;
  RAISE 'undo';
EXCEPTION WHEN raise_exception THEN
  RETURN CASE WHEN split_part(answer, ' / ', 1) = split_part(answer, ' / ', 2) THEN split_part(answer, ' / ', 1) ELSE answer END;
END $$;
SELECT pg_temp.refusal(VARIADIC '{}');

-- Columns: each one missing, of another type, nullable, with another collation.
SELECT attname, pg_temp.refusal(format('ALTER TABLE idem_transactions DROP COLUMN %I CASCADE', attname)) FROM pg_attribute
WHERE attrelid = 'idem_transactions'::regclass AND attnum > 0 ORDER BY attname;
SELECT attname, pg_temp.refusal(format('ALTER TABLE idem_transactions RENAME %I TO renamed', attname)) FROM pg_attribute
WHERE attrelid = 'idem_transactions'::regclass AND attnum > 0 ORDER BY attname;
SELECT attname, pg_temp.refusal('ALTER TABLE idem_transactions DROP CONSTRAINT idem_transactions_pkey',
  format('ALTER TABLE idem_transactions ALTER %I DROP NOT NULL', attname)) FROM pg_attribute
WHERE attrelid = 'idem_transactions'::regclass AND attnum > 0 ORDER BY attname;
SELECT change, pg_temp.refusal('DELETE FROM idem_transactions', 'ALTER TABLE idem_transactions ALTER ' || change)
FROM unnest(ARRAY['amount_minor TYPE int', 'amount_minor TYPE numeric', 'hash_version TYPE int', 'currency TYPE varchar(3)',
  'currency TYPE char(3)', 'tenant_id TYPE varchar', 'request_hash TYPE text', 'created_at TYPE timestamp',
  'details DROP DEFAULT, ALTER details TYPE text',
  'details DROP DEFAULT, ALTER details TYPE json USING details::json', 'id TYPE text']) AS u(change) ORDER BY change COLLATE "C";
SELECT attname, pg_temp.refusal(format('ALTER TABLE idem_transactions ALTER %I TYPE text COLLATE "POSIX"', attname)) FROM pg_attribute
WHERE attrelid = 'idem_transactions'::regclass AND attcollation <> 0 AND attnum > 0 ORDER BY attname;

-- H66: only valid, immediate unique indexes on exactly the three columns protect.
CREATE FUNCTION pg_temp.scope(VARIADIC indexes text[]) RETURNS text LANGUAGE sql AS $$
  SELECT pg_temp.refusal(VARIADIC 'ALTER TABLE idem_transactions DROP CONSTRAINT idem_transactions_scope_key'::text || indexes)
$$;
SELECT pg_temp.scope(VARIADIC '{}') AS dropped;
SELECT pg_temp.scope('CREATE UNIQUE INDEX ON idem_transactions (tenant_id, operation, idempotency_key)') AS unique_index,
  pg_temp.scope('ALTER TABLE idem_transactions ADD UNIQUE (idempotency_key, tenant_id, operation)') AS other_order,
  pg_temp.scope('CREATE UNIQUE INDEX ON idem_transactions (tenant_id, operation, idempotency_key) INCLUDE (id)') AS with_include;
SELECT index, pg_temp.scope(index) FROM unnest(ARRAY[
  'CREATE INDEX ON idem_transactions (tenant_id, operation, idempotency_key)',
  'CREATE UNIQUE INDEX ON idem_transactions (tenant_id, operation)',
  'CREATE UNIQUE INDEX ON idem_transactions (tenant_id, idempotency_key)',
  'CREATE UNIQUE INDEX ON idem_transactions (tenant_id, operation, idempotency_key, id)',
  'CREATE UNIQUE INDEX ON idem_transactions (tenant_id, operation, idempotency_key) WHERE amount_minor > 0',
  'CREATE UNIQUE INDEX ON idem_transactions (tenant_id, operation, lower(idempotency_key))',
  'CREATE UNIQUE INDEX ON idem_transactions (tenant_id, operation, (idempotency_key || ''''))',
  'CREATE UNIQUE INDEX ON idem_transactions (tenant_id, operation, idempotency_key COLLATE "POSIX")',
  'CREATE UNIQUE INDEX ON idem_transactions (tenant_id, operation, operation, idempotency_key)',
  'CREATE UNIQUE INDEX ON idem_transactions (tenant_id, operation) INCLUDE (idempotency_key)',
  'ALTER TABLE idem_transactions ADD UNIQUE (tenant_id, operation, idempotency_key) DEFERRABLE',
  'ALTER TABLE idem_transactions ADD UNIQUE (tenant_id, operation, idempotency_key) DEFERRABLE INITIALLY DEFERRED',
  'ALTER TABLE idem_transactions ADD EXCLUDE (tenant_id WITH =, operation WITH =, idempotency_key WITH =)'])
  WITH ORDINALITY AS u(index, n) ORDER BY n;

CREATE FUNCTION pg_temp.orders(VARIADIC indexes text[]) RETURNS text LANGUAGE sql AS $$
  SELECT pg_temp.refusal(VARIADIC 'DROP INDEX idem_transactions_order_key'::text || indexes)
$$;
SELECT pg_temp.orders(VARIADIC '{}') AS dropped;
SELECT pg_temp.orders('ALTER TABLE idem_transactions ADD UNIQUE (tenant_id, operation, order_ref)') AS whole,
  pg_temp.orders('CREATE UNIQUE INDEX ON idem_transactions (order_ref, operation, tenant_id) WHERE order_ref IS NOT NULL') AS other_order;
SELECT index, pg_temp.orders(index) FROM unnest(ARRAY[
  'CREATE INDEX ON idem_transactions (tenant_id, operation, order_ref)',
  'CREATE UNIQUE INDEX ON idem_transactions (tenant_id, order_ref)',
  'CREATE UNIQUE INDEX ON idem_transactions (tenant_id, operation, order_ref) WHERE order_ref IS NULL',
  'CREATE UNIQUE INDEX ON idem_transactions (tenant_id, operation, order_ref) WHERE order_ref > ''a''',
  'CREATE UNIQUE INDEX ON idem_transactions (tenant_id, operation, order_ref) WHERE order_ref IS NOT NULL AND amount_minor > 5',
  'CREATE UNIQUE INDEX ON idem_transactions (tenant_id, operation, order_ref) WHERE currency IS NOT NULL',
  'ALTER TABLE idem_transactions ADD UNIQUE (tenant_id, operation, order_ref) DEFERRABLE']) WITH ORDINALITY AS u(index, n) ORDER BY n;

-- Rules, which ON CONFLICT cannot work with.
SELECT pg_temp.refusal('CREATE RULE r AS ON INSERT TO idem_transactions DO INSTEAD NOTHING') AS insert_rule,
  pg_temp.refusal('CREATE RULE r AS ON UPDATE TO idem_transactions DO ALSO NOTHING') AS update_rule,
  pg_temp.refusal('CREATE RULE r AS ON DELETE TO idem_transactions DO INSTEAD NOTHING') AS delete_rule;

-- An order key to which two requests without an order are the same one.
SELECT pg_temp.refusal('DROP INDEX idem_transactions_order_key',
  'ALTER TABLE idem_transactions ADD UNIQUE NULLS NOT DISTINCT (tenant_id, operation, order_ref)') AS nulls_not_distinct;

-- A deferrable primary key, on which an insert could not yield.
SELECT pg_temp.refusal('ALTER TABLE idem_transactions DROP CONSTRAINT idem_transactions_pkey',
  'ALTER TABLE idem_transactions ADD PRIMARY KEY (tenant_id, id) DEFERRABLE') AS deferrable_primary_key,
  pg_temp.refusal('ALTER TABLE idem_transactions DROP CONSTRAINT idem_transactions_pkey',
  'ALTER TABLE idem_transactions ADD PRIMARY KEY (tenant_id, id)') AS same_primary_key,
  pg_temp.refusal('ALTER TABLE idem_transactions DROP CONSTRAINT idem_transactions_pkey') AS no_primary_key;

DROP FUNCTION pg_temp.scope;
DROP FUNCTION pg_temp.orders;

-- H66: an index that was built on duplicates is there, but not valid.
BEGIN;
ALTER TABLE idem_transactions DROP CONSTRAINT idem_transactions_scope_key;
INSERT INTO idem_transactions SELECT 't', gen_random_uuid(), 'o', 'k', sha256('x'), 1, 1, 'EUR' FROM generate_series(1, 2);
COMMIT;
\set VERBOSITY sqlstate
CREATE UNIQUE INDEX CONCURRENTLY regress_invalid ON idem_transactions (tenant_id, operation, idempotency_key);
\set VERBOSITY default
SELECT indisvalid FROM pg_index WHERE indexrelid = 'regress_invalid'::regclass;
SELECT idem_create_transaction('t', 'k', 1, 'EUR', operation => 'o');
SELECT count(*) FROM idem_transactions;
DROP INDEX regress_invalid;
DELETE FROM idem_transactions;
ALTER TABLE idem_transactions ADD CONSTRAINT idem_transactions_scope_key UNIQUE (tenant_id, operation, idempotency_key);
SELECT outcome FROM idem_create_transaction('t', 'k', 1, 'EUR', operation => 'o');
DELETE FROM idem_transactions;

-- Relations that are no tables.
CREATE FUNCTION pg_temp.instead(VARIADIC changes text[]) RETURNS text LANGUAGE sql AS $$
  SELECT pg_temp.refusal(VARIADIC 'ALTER TABLE idem_transactions RENAME TO transactions'::text || changes)
$$;
SELECT pg_temp.instead('CREATE VIEW idem_transactions AS SELECT * FROM transactions') AS view,
  pg_temp.instead('CREATE MATERIALIZED VIEW idem_transactions AS SELECT * FROM transactions') AS materialized_view,
  pg_temp.instead('CREATE SEQUENCE idem_transactions') AS sequence;
SELECT pg_temp.instead('CREATE TABLE idem_transactions (id int)') AS other_table,
  pg_temp.instead('CREATE TABLE idem_transactions (LIKE transactions INCLUDING ALL)') AS same_shape;
SELECT pg_temp.instead('CREATE FOREIGN DATA WRAPPER regress_idem', 'CREATE SERVER regress_idem FOREIGN DATA WRAPPER regress_idem',
  'CREATE FOREIGN TABLE idem_transactions (id int) SERVER regress_idem') AS foreign_table;
DROP FUNCTION pg_temp.instead;
DROP FUNCTION pg_temp.refusal;

-- The whole message, and the hint that mends it.
BEGIN;
\set ON_ERROR_ROLLBACK on
ALTER TABLE idem_transactions DROP CONSTRAINT idem_transactions_scope_key;
SELECT idem_create_transaction('t', 'k', 1, 'EUR');
ALTER TABLE idem_transactions ADD UNIQUE (tenant_id, operation, idempotency_key);
DROP INDEX idem_transactions_order_key;
SELECT idem_try_create_transaction('t', 'k', 1, 'EUR');
ALTER TABLE public.idem_transactions ADD UNIQUE (tenant_id, operation, order_ref);
SELECT outcome FROM idem_create_transaction('t', 'k', 1, 'EUR');
\set ON_ERROR_ROLLBACK off
ROLLBACK;
SELECT count(*) FROM idem_transactions;
