-- A ledger that is partitioned by tenant serves like a plain one.
\set VERBOSITY sqlstate
SET client_min_messages = warning;
BEGIN;
DROP EXTENSION idem;
DROP TABLE idem_transactions;
CREATE TABLE idem_transactions (
  tenant_id text COLLATE "C" NOT NULL, id uuid NOT NULL, operation text COLLATE "C" NOT NULL,
  idempotency_key text COLLATE "C" NOT NULL, request_hash bytea NOT NULL, hash_version smallint NOT NULL,
  amount_minor bigint NOT NULL, currency text COLLATE "C" NOT NULL, order_ref text COLLATE "C",
  details jsonb NOT NULL, created_at timestamptz NOT NULL,
  PRIMARY KEY (tenant_id, id), UNIQUE (tenant_id, operation, idempotency_key))
  PARTITION BY HASH (tenant_id);
CREATE UNIQUE INDEX ON idem_transactions (tenant_id, operation, order_ref) WHERE order_ref IS NOT NULL;
CREATE TABLE part_0 PARTITION OF idem_transactions FOR VALUES WITH (MODULUS 3, REMAINDER 0);
CREATE TABLE part_1 PARTITION OF idem_transactions FOR VALUES WITH (MODULUS 3, REMAINDER 1);
-- A partition with its columns in another order, and one that was dropped.
CREATE TABLE part_2 (gone int, details jsonb NOT NULL, order_ref text COLLATE "C", created_at timestamptz NOT NULL,
  currency text COLLATE "C" NOT NULL, amount_minor bigint NOT NULL, hash_version smallint NOT NULL, request_hash bytea NOT NULL,
  idempotency_key text COLLATE "C" NOT NULL, operation text COLLATE "C" NOT NULL, id uuid NOT NULL, tenant_id text COLLATE "C" NOT NULL);
ALTER TABLE part_2 DROP COLUMN gone;
ALTER TABLE idem_transactions ATTACH PARTITION part_2 FOR VALUES WITH (MODULUS 3, REMAINDER 2);

-- CREATE EXTENSION adopts it.
CREATE EXTENSION idem;
SELECT idem_create_ledger();
SELECT relkind, (SELECT count(*) FROM pg_inherits WHERE inhparent = c.oid) AS partitions FROM pg_class c
WHERE oid = 'idem_transactions'::regclass;
SELECT count(*) AS memberships FROM pg_depend WHERE classid = 'pg_class'::regclass AND refclassid = 'pg_extension'::regclass
  AND objid IN (SELECT relid FROM pg_partition_tree('idem_transactions'));

-- Create, replay, conflict, order: in every partition.
\set ON_ERROR_ROLLBACK on
SELECT outcome, count(*) FROM generate_series(1, 30) g, LATERAL idem_create_transaction('t' || g, 'k', g, 'EUR', '{"a": 1}',
  order_ref => 'o') GROUP BY outcome;
SELECT count(DISTINCT tableoid) AS partitions, count(*) AS rows FROM idem_transactions;
SELECT outcome, count(*) FROM generate_series(1, 30) g, LATERAL idem_create_transaction('t' || g, 'k', g, 'EUR', '{"a": 1.0}',
  order_ref => 'o') GROUP BY outcome;
SELECT outcome, count(*) FROM generate_series(1, 30) g, LATERAL idem_try_create_transaction('t' || g, 'k', g + 1, 'EUR', '{"a": 1}',
  order_ref => 'o') GROUP BY outcome;
SELECT outcome, count(*) FROM generate_series(1, 30) g, LATERAL idem_try_create_transaction('t' || g, 'k2', g, 'EUR', '{"a": 1}',
  order_ref => 'o') GROUP BY outcome;
SELECT outcome, count(*) FROM generate_series(1, 30) g, LATERAL idem_create_transaction('t' || g, 'k3', g, 'EUR') GROUP BY outcome;
SELECT outcome, count(*) FROM generate_series(1, 30) g, LATERAL idem_create_transaction('t' || g, 'k3', g, 'EUR') GROUP BY outcome;
SELECT count(*) FILTER (WHERE f.amount_minor <> g OR f.details <> '{"a": 1}' OR f.order_ref <> 'o') AS wrong
FROM generate_series(1, 30) g, LATERAL idem_create_transaction('t' || g, 'k', g, 'EUR', '{"a": 1}', order_ref => 'o') f;
SELECT idem_create_transaction('t1', 'k', 99, 'EUR');
SELECT idem_create_transaction('t1', 'k4', 99, 'EUR', order_ref => 'o');
SELECT idempotency_key, count(*) FROM idem_transactions GROUP BY 1 ORDER BY 1;

-- A unique key of one partition's own.
SELECT tableoid::regclass AS part FROM idem_transactions WHERE tenant_id = 't1' LIMIT 1 \gset
CREATE UNIQUE INDEX regress_local ON :part (tenant_id, (details->>'invoice'));
SELECT outcome FROM idem_create_transaction('t1', 'i1', 1, 'EUR', '{"invoice": "x"}');
SELECT outcome FROM idem_create_transaction('t1', 'i1', 1, 'EUR', '{"invoice": "x"}');
SELECT outcome FROM idem_create_transaction('t1', 'i2', 1, 'EUR', '{"invoice": "y"}', order_ref => 'i2');
SELECT outcome FROM idem_create_transaction('t1', 'i2', 1, 'EUR', '{"invoice": "y"}', order_ref => 'i2');
SELECT idem_create_transaction('t1', 'i3', 1, 'EUR', '{"invoice": "x"}');
SELECT idem_create_transaction('t1', 'i3', 1, 'EUR', '{"invoice": "x"}', order_ref => 'i3');
SELECT outcome FROM idem_create_transaction('t1', 'i3', 1, 'EUR', '{"invoice": "z"}');

-- A trigger of one partition's own: what it suppresses or changes is noticed as with one of the whole table.
CREATE FUNCTION regress_local() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  CASE NEW.operation
    WHEN 'suppress' THEN RETURN NULL;
    WHEN 'key' THEN NEW.idempotency_key := NEW.idempotency_key || '-2';
    WHEN 'id' THEN NEW.id := gen_random_uuid();
    WHEN 'amount' THEN NEW.amount_minor := 77; NEW.details := '{"by": "trigger"}';
    ELSE NULL;
  END CASE;
  RETURN NEW;
END $$;
CREATE TRIGGER regress_local BEFORE INSERT ON :part FOR EACH ROW EXECUTE FUNCTION regress_local();
SELECT count(*) AS rows FROM idem_transactions \gset
SELECT idem_create_transaction('t1', 'trigger', 1, 'EUR', operation => 'suppress');
SELECT idem_try_create_transaction('t1', 'trigger', 1, 'EUR', operation => 'suppress', order_ref => 'suppress');
SELECT idem_create_transaction('t1', 'trigger', 1, 'EUR', operation => 'key');
SELECT idem_try_create_transaction('t1', 'trigger', 1, 'EUR', operation => 'key', order_ref => 'key');
SELECT idem_create_transaction('t1', 'trigger', 1, 'EUR', operation => 'id');
SELECT idem_try_create_transaction('t1', 'trigger', 1, 'EUR', operation => 'id', order_ref => 'id');
SELECT count(*) = :rows AS unchanged FROM idem_transactions;
SELECT outcome, amount_minor, details, transaction_id AS id
FROM idem_create_transaction('t1', 'trigger', 1, 'EUR', operation => 'amount') \gset
\echo :outcome :amount_minor :details
SELECT outcome, amount_minor, details, transaction_id = :'id' AS same_id
FROM idem_create_transaction('t1', 'trigger', 1, 'EUR', operation => 'amount');
SELECT idem_create_transaction('t1', 'trigger', 77, 'EUR', operation => 'amount');
SELECT amount_minor, details, id = :'id' AS same_id FROM idem_transactions WHERE operation = 'amount';
SELECT outcome, amount_minor FROM idem_create_transaction('t1', 'trigger', 1, 'EUR', operation => 'nothing');
\set VERBOSITY terse
SELECT idem_create_transaction('t1', 'trigger', 1, 'EUR', operation => 'suppress');
SELECT idem_create_transaction('t1', 'trigger', 1, 'EUR', operation => 'id');
\set VERBOSITY sqlstate
DROP TRIGGER regress_local ON :part;

-- A tenant whose partition is gone: the server's own error, and nothing stored elsewhere.
SELECT count(*) AS rows FROM idem_transactions \gset
SELECT count(*) AS lost FROM :part \gset
ALTER TABLE idem_transactions DETACH PARTITION :part;
SELECT idem_create_transaction('t1', 'new', 1, 'EUR');
SELECT count(*) = :rows - :lost AS unchanged FROM idem_transactions;

-- Without the index of the orders it is refused, like a plain one.
DROP INDEX idem_transactions_tenant_id_operation_order_ref_idx;
SELECT idem_create_transaction('t2', 'new', 1, 'EUR');
\set ON_ERROR_ROLLBACK off
ROLLBACK;

-- The same made by the user before idem_create_ledger(), where CREATE EXTENSION made none.
BEGIN;
DROP EXTENSION idem;
CREATE TABLE made (LIKE idem_transactions INCLUDING ALL) PARTITION BY HASH (tenant_id);
DROP TABLE idem_transactions;
CREATE TABLE made_0 PARTITION OF made FOR VALUES WITH (MODULUS 1, REMAINDER 0);
SET LOCAL client_min_messages = error;
SET LOCAL row_security = off;
CREATE EXTENSION idem;
ALTER TABLE made RENAME TO idem_transactions;
SELECT idem_create_ledger();
SELECT outcome FROM idem_create_transaction('t', 'k', 1, 'EUR', order_ref => 'o');
SELECT outcome FROM idem_create_transaction('t', 'k', 1, 'EUR', order_ref => 'o');
SELECT tableoid::regclass, idempotency_key FROM idem_transactions;
ROLLBACK;
SELECT outcome FROM idem_create_transaction('t', 'k', 1, 'EUR');
DELETE FROM idem_transactions;
