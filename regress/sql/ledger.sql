-- The ledger is an ordinary table: no member of the extension, kept by DROP, adopted by CREATE, open to additions.
\set SHOW_CONTEXT never
SET client_min_messages = warning;

-- Not a member, but its owner's table.
SELECT count(*) AS memberships FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = 'idem_transactions'::regclass
  AND refclassid = 'pg_extension'::regclass;
SELECT relowner = (SELECT extowner FROM pg_extension WHERE extname = 'idem') AS owner_installed, relkind, relpersistence
FROM pg_class WHERE oid = 'idem_transactions'::regclass;
SELECT attname, format_type(atttypid, atttypmod) AS type, attnotnull, pg_get_expr(adbin, adrelid) AS default
FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
WHERE attrelid = 'idem_transactions'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attname;
SELECT indexrelid::regclass AS index, indisprimary, pg_get_expr(indpred, indrelid) AS predicate, ARRAY(
    SELECT attname FROM unnest(indkey) WITH ORDINALITY AS k(n, o) JOIN pg_attribute ON attrelid = indrelid AND attnum = n
    ORDER BY o) AS columns
FROM pg_index WHERE indrelid = 'idem_transactions'::regclass AND indisunique ORDER BY indexrelid::regclass::text COLLATE "C";
SELECT count(*) AS triggers FROM pg_trigger WHERE tgrelid = 'idem_transactions'::regclass;

-- H13: the text of a key is compared by its octets, in the table and in the indexes; the indexes are sound.
SELECT attname, collname FROM pg_attribute JOIN pg_collation c ON c.oid = attcollation
WHERE attrelid = 'idem_transactions'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attname;
SELECT indexrelid::regclass AS index, count(*) FILTER (WHERE c <> '"C"'::regcollation) AS other_collations
FROM pg_index, unnest(indcollation) c WHERE indrelid = 'idem_transactions'::regclass AND c <> 0
GROUP BY 1 ORDER BY indexrelid::regclass::text COLLATE "C";
SELECT count(*) FROM generate_series(1, 1000) g,
  LATERAL idem_create_transaction('t' || g % 7, chr(97 + g % 26) || g * 7919 % 1000, g, 'EUR', order_ref => 'o' || g);
DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_available_extensions WHERE name = 'amcheck') THEN
    CREATE EXTENSION amcheck;
    PERFORM bt_index_check(indexrelid, true) FROM pg_index WHERE indrelid = 'idem_transactions'::regclass;
    DROP EXTENSION amcheck;
  END IF;
END $$;
DELETE FROM idem_transactions;

-- H51: DROP EXTENSION leaves the ledger with every row, CREATE EXTENSION adopts it, and old keys still replay.
CREATE TABLE own (tenant_id text COLLATE "C", id uuid, FOREIGN KEY (tenant_id, id) REFERENCES idem_transactions);
SELECT transaction_id AS id FROM idem_create_transaction('t', 'k', 1, 'EUR', '{"a": 1}', order_ref => 'o') \gset
INSERT INTO own VALUES ('t', :'id');
DROP EXTENSION idem;
SELECT id = :'id' AS same_row FROM idem_transactions;
SELECT count(*) FROM own;
CREATE EXTENSION idem;
SELECT outcome, transaction_id = :'id' AS same_row FROM idem_create_transaction('t', 'k', 1, 'EUR', '{"a": 1}', order_ref => 'o');
CREATE VIEW uses_it AS SELECT idem_fingerprint(amount_minor, currency) FROM idem_transactions;
\set VERBOSITY sqlstate
DROP EXTENSION idem;
DROP EXTENSION idem CASCADE;
SELECT id = :'id' AS same_row FROM idem_transactions;
SELECT count(*) FROM own;
CREATE EXTENSION idem;
SELECT count(*) AS memberships FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = 'idem_transactions'::regclass
  AND refclassid = 'pg_extension'::regclass;
DROP TABLE own;
-- Dropping the ledger never drops the extension; the calls say what is missing, and how to get it.
BEGIN;
\set ON_ERROR_ROLLBACK on
DROP TABLE idem_transactions;
SELECT extname FROM pg_extension WHERE extname = 'idem';
\set VERBOSITY default
SELECT idem_create_transaction('t', 'k', 1, 'EUR');
SELECT idem_try_create_transaction('t', 'k', 1, 'EUR');
SELECT idem_grant(current_user);
-- Malformed comes before missing.
SELECT idem_create_transaction('', 'k', 1, 'EUR');
SELECT idem_create_ledger();
SELECT outcome FROM idem_create_transaction('t', 'k', 1, 'EUR');
SELECT idem_create_ledger();
SELECT outcome FROM idem_create_transaction('t', 'k', 1, 'EUR');
SELECT obj_description('idem_transactions'::regclass, 'pg_class') IS NOT NULL AS comment;
\set ON_ERROR_ROLLBACK off
ROLLBACK;
SELECT outcome, transaction_id = :'id' AS same_row FROM idem_create_transaction('t', 'k', 1, 'EUR', '{"a": 1}', order_ref => 'o');
DELETE FROM idem_transactions;

-- H67: names of constraints and indexes are the user's business.
BEGIN;
SELECT outcome FROM idem_create_transaction('t', 'k', 1, 'EUR', order_ref => 'o');
ALTER TABLE idem_transactions RENAME CONSTRAINT idem_transactions_scope_key TO "my key";
ALTER INDEX idem_transactions_order_key RENAME TO "my order";
ALTER INDEX idem_transactions_pkey RENAME TO "my pkey";
SELECT outcome FROM idem_create_transaction('t', 'k', 1, 'EUR', order_ref => 'o');
SELECT outcome FROM idem_try_create_transaction('t', 'k2', 1, 'EUR', order_ref => 'o');
SELECT outcome FROM idem_create_transaction('t', 'k3', 1, 'EUR');
SELECT idem_create_ledger();
-- The table's own name is not: a renamed or moved ledger is missing, and back in place when it is back.
\set ON_ERROR_ROLLBACK on
ALTER TABLE idem_transactions RENAME TO transactions;
SELECT idem_create_transaction('t', 'k', 1, 'EUR', order_ref => 'o');
ALTER TABLE transactions RENAME TO idem_transactions;
SELECT outcome FROM idem_create_transaction('t', 'k', 1, 'EUR', order_ref => 'o');
CREATE SCHEMA regress_idem;
ALTER TABLE idem_transactions SET SCHEMA regress_idem;
SELECT idem_create_transaction('t', 'k', 1, 'EUR', order_ref => 'o');
ALTER TABLE regress_idem.idem_transactions SET SCHEMA public;
SELECT outcome FROM idem_create_transaction('t', 'k', 1, 'EUR', order_ref => 'o');
\set ON_ERROR_ROLLBACK off
ROLLBACK;

-- What users add: columns, indexes, triggers, foreign keys, checks.
CREATE TABLE tenants (tenant_id text COLLATE "C" PRIMARY KEY);
CREATE TABLE seen (key text);
CREATE FUNCTION regress_seen() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO seen VALUES (NEW.idempotency_key);
  RETURN NULL;
END $$;
BEGIN;
SELECT outcome FROM idem_create_transaction('t', 'k1', 1, 'EUR');
INSERT INTO tenants VALUES ('t');
ALTER TABLE idem_transactions ADD note text DEFAULT 'none', ADD doubled bigint GENERATED ALWAYS AS (amount_minor * 2) STORED,
  ADD gone int, ADD FOREIGN KEY (tenant_id) REFERENCES tenants, ADD CHECK (amount_minor < 1000);
ALTER TABLE idem_transactions DROP COLUMN gone;
CREATE INDEX ON idem_transactions (created_at);
CREATE INDEX ON idem_transactions USING gin (details);
CREATE TRIGGER seen AFTER INSERT ON idem_transactions FOR EACH ROW EXECUTE FUNCTION regress_seen();
SELECT outcome FROM idem_create_transaction('t', 'k1', 1, 'EUR');
SELECT outcome FROM idem_create_transaction('t', 'k2', 2, 'EUR', order_ref => 'o');
SELECT outcome FROM idem_create_transaction('t', 'k2', 2, 'EUR', order_ref => 'o');
SELECT outcome FROM idem_try_create_transaction('t', 'k3', 2, 'EUR', order_ref => 'o');
\set ON_ERROR_ROLLBACK on
\set VERBOSITY sqlstate
SELECT idem_create_transaction('t2', 'k1', 1, 'EUR');
SELECT idem_create_transaction('t', 'k4', 1000, 'EUR');
SELECT idem_create_ledger();
\set ON_ERROR_ROLLBACK off
SELECT idempotency_key, note, doubled FROM idem_transactions ORDER BY 1;
SELECT key FROM seen ORDER BY key;
ROLLBACK;
DROP TABLE seen;
DROP TABLE tenants;
DROP FUNCTION regress_seen;
SELECT outcome FROM idem_create_transaction('t', 'k1', 1, 'EUR');
DELETE FROM idem_transactions;

-- While a dump is restored (row_security is off then) the table is left to the dump.
\set VERBOSITY default
BEGIN;
DROP EXTENSION idem;
DROP TABLE idem_transactions;
SET LOCAL client_min_messages = error;
SET LOCAL row_security = off;
CREATE EXTENSION idem;
SELECT to_regclass('idem_transactions') IS NULL AS no_ledger;
\set ON_ERROR_ROLLBACK on
SELECT idem_create_transaction('t', 'k', 1, 'EUR');
\set ON_ERROR_ROLLBACK off
SELECT idem_create_ledger();
SELECT outcome FROM idem_create_transaction('t', 'k', 1, 'EUR');
ROLLBACK;
