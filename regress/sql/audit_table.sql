-- What an audit says about a table of the user's own, attached or not.
SET client_min_messages = warning;
CREATE TABLE regress_pay (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tenant_id text NOT NULL, operation text NOT NULL, idempotency_key text NOT NULL,
  request_hash bytea, amount_minor int NOT NULL DEFAULT 1);

-- H65: a table with 7 duplicated keys and an index that is not unique is not attached, and nothing changes. The audit
-- lists exactly those 7, with counts, ids and sums.
INSERT INTO regress_pay (tenant_id, operation, idempotency_key) SELECT 't', 'pay', 'k' || g % 20 FROM generate_series(1, 27) AS g;
INSERT INTO regress_pay (tenant_id, operation, idempotency_key) VALUES ('t2', 'pay', 'k1'), ('t', 'refund', 'k1'), ('t', 'pay', 'k7');
CREATE INDEX regress_scope ON regress_pay (tenant_id, operation, idempotency_key);
\set VERBOSITY sqlstate
SELECT idem_attach('regress_pay');
\set VERBOSITY default
SELECT count(*) AS attached FROM idem_tables;
SELECT severity, code, object, finding FROM idem_audit_table('regress_pay');
-- Not more than asked for; what is left out is counted.
SELECT code, finding FROM idem_audit_table('regress_pay', max_groups => 2) WHERE code LIKE 'duplicates%';
-- The same groups, by columns.
SELECT "values" ->> 'idempotency_key' AS key, "rows", amount, ids, groups
FROM idem_find_duplicates('regress_pay', '{tenant_id,operation,idempotency_key}');

-- H66: the unique index that failed on them stays invalid, and does not count. Both name it.
\set VERBOSITY sqlstate
CREATE UNIQUE INDEX CONCURRENTLY regress_unique ON regress_pay (tenant_id, operation, idempotency_key);
\set VERBOSITY default
SELECT idem_attach('regress_pay');
SELECT severity, code, object, finding, hint FROM idem_audit_table('regress_pay') WHERE code NOT LIKE 'duplicates%';
DROP INDEX CONCURRENTLY regress_unique;

-- H65, the other half: without the duplicates and with a unique index the table would do, and is attached.
DELETE FROM regress_pay AS p USING regress_pay AS q
WHERE (p.tenant_id, p.operation, p.idempotency_key) = (q.tenant_id, q.operation, q.idempotency_key) AND p.id > q.id;
CREATE UNIQUE INDEX regress_unique ON regress_pay (tenant_id, operation, idempotency_key);
SELECT severity, code, object, finding, hint FROM idem_audit_table('regress_pay');
SELECT idem_attach('regress_pay');

-- Attached: rows from before have no fingerprint. There is no time by which repeated content could be found.
SELECT severity, code, object, finding FROM idem_audit_table('regress_pay');
SELECT severity, code, object FROM idem_audit() WHERE object LIKE '%regress_pay';
-- Content that comes again under a new key soon after is a client that makes a key for each try.
ALTER TABLE regress_pay ADD created_at timestamptz NOT NULL DEFAULT now();
SELECT outcome FROM generate_series(1, 4) AS g, LATERAL idem_insert('regress_pay', 't', 'new' || g, jsonb_build_object('amount_minor', g / 4), 'pay');
SELECT code, finding FROM idem_audit_table('regress_pay') WHERE severity <> 'error';
UPDATE regress_pay SET created_at = '2026-01-01' WHERE idempotency_key = 'new1';
UPDATE regress_pay SET created_at = '2026-01-01 00:50' WHERE idempotency_key = 'new2';
UPDATE regress_pay SET created_at = '2026-01-01 02:00' WHERE idempotency_key = 'new3';
SELECT finding FROM idem_audit_table('regress_pay') WHERE code = 'repeated_content';
SELECT finding FROM idem_audit_table('regress_pay', retry_window => '2 hours') WHERE code = 'repeated_content';
SELECT count(*) FROM idem_audit_table('regress_pay', retry_window => '1 minute') WHERE code = 'repeated_content';
SELECT count(*) FROM idem_audit_table('regress_pay', retry_window => NULL) WHERE code = 'repeated_content';
-- Neither a time to which nothing can be added nor ids of a type without an order end the audit.
CREATE TABLE regress_late (id json, tenant_id text NOT NULL, idempotency_key text NOT NULL, request_hash bytea,
  created_at timestamptz NOT NULL, UNIQUE (tenant_id, idempotency_key));
SELECT idem_attach('regress_late', fixed_operation => 'pay');
SELECT outcome FROM generate_series(1, 2) AS g, LATERAL idem_insert('regress_late', 't', 'k' || g,
  '{"id": {"no": 1}, "created_at": "294276-12-31 23:59:59+00"}');
SELECT code, finding FROM idem_audit_table('regress_late');
DROP TABLE regress_late;
-- Fingerprints that no call can have written.
UPDATE regress_pay SET request_hash = '' WHERE idempotency_key = 'new1';
UPDATE regress_pay SET request_hash = set_byte(request_hash, 0, 9) WHERE idempotency_key = 'new2';
UPDATE regress_pay SET request_hash = substr(request_hash, 1, 32) WHERE idempotency_key = 'new3';
SELECT severity, code, finding FROM idem_audit_table('regress_pay') WHERE code LIKE 'fingerprint%';

-- Duplicates behind an index that says they cannot be: the table is read, not the index.
UPDATE pg_index SET indislive = false, indisready = false WHERE indexrelid = 'regress_unique'::regclass;
INSERT INTO regress_pay (tenant_id, operation, idempotency_key, amount_minor) VALUES ('t', 'pay', 'k5', 70);
UPDATE pg_index SET indislive = true, indisready = true WHERE indexrelid = 'regress_unique'::regclass;
SET enable_seqscan = off;
SELECT count(*) AS by_index FROM regress_pay WHERE tenant_id = 't' AND operation = 'pay' AND idempotency_key = 'k5';
SELECT severity, code, object, finding FROM idem_audit_table('regress_pay') WHERE code LIKE 'duplicates%';
SELECT "rows", amount, ids FROM idem_find_duplicates('regress_pay', '{tenant_id,operation,idempotency_key}');
RESET enable_seqscan;
DELETE FROM regress_pay WHERE amount_minor = 70;

-- Everything that keeps an index from protecting the scope, by its code.
CREATE FUNCTION pg_temp.codes(ddl text) RETURNS TABLE (severity text, code text, object text) LANGUAGE plpgsql AS $$
BEGIN
  DROP INDEX IF EXISTS regress_unique;
  EXECUTE ddl;
  RETURN QUERY SELECT a.severity, a.code, a.object FROM idem_audit_table('regress_pay') AS a
    WHERE a.code NOT LIKE 'fingerprint%' AND a.code <> 'not_attached';
  RAISE SQLSTATE 'XX999';
EXCEPTION WHEN SQLSTATE 'XX999' THEN
  NULL;
END $$;
DROP INDEX regress_scope;
SELECT * FROM pg_temp.codes('SELECT');
SELECT * FROM pg_temp.codes('CREATE UNIQUE INDEX x ON regress_pay (idempotency_key, tenant_id, operation) INCLUDE (amount_minor)');
SELECT * FROM pg_temp.codes('CREATE INDEX x ON regress_pay (tenant_id, operation, idempotency_key)');
SELECT * FROM pg_temp.codes('CREATE UNIQUE INDEX x ON regress_pay (tenant_id, operation, idempotency_key) WHERE amount_minor > 0');
SELECT * FROM pg_temp.codes('CREATE UNIQUE INDEX x ON regress_pay (tenant_id, operation, lower(idempotency_key))');
SELECT * FROM pg_temp.codes('CREATE UNIQUE INDEX x ON regress_pay (tenant_id, operation, idempotency_key, created_at)');
SELECT * FROM pg_temp.codes('ALTER TABLE regress_pay ADD CONSTRAINT x UNIQUE (tenant_id, operation, idempotency_key) DEFERRABLE');
SELECT * FROM pg_temp.codes('ALTER TABLE regress_pay ALTER operation DROP NOT NULL;
  CREATE UNIQUE INDEX x ON regress_pay (tenant_id, operation, idempotency_key)');
SELECT * FROM pg_temp.codes('ALTER TABLE regress_pay ALTER operation DROP NOT NULL;
  INSERT INTO regress_pay (tenant_id, operation, idempotency_key) VALUES (''t'', NULL, ''k5'');
  CREATE UNIQUE INDEX x ON regress_pay (tenant_id, operation, idempotency_key) NULLS NOT DISTINCT');
SELECT * FROM pg_temp.codes('ALTER TABLE regress_pay ALTER operation DROP NOT NULL;
  INSERT INTO regress_pay (tenant_id, operation, idempotency_key) VALUES (''t'', NULL, ''k5'');
  CREATE UNIQUE INDEX x ON regress_pay (tenant_id, operation, idempotency_key)');
SELECT * FROM pg_temp.codes('ALTER TABLE regress_pay ALTER amount_minor TYPE numeric;
  CREATE UNIQUE INDEX regress_unique ON regress_pay (tenant_id, operation, idempotency_key)');
CREATE TABLE regress_numbers (tenant_id text NOT NULL, idempotency_key numeric NOT NULL, UNIQUE (tenant_id, idempotency_key));
SELECT severity, code, object, finding FROM idem_audit_table('regress_numbers');
DROP TABLE regress_numbers;

-- What else a table may have.
CREATE UNIQUE INDEX regress_other ON regress_pay (amount_minor, id);
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'regress_other'::regclass;
SELECT severity, code, object FROM idem_audit_table('regress_pay') WHERE code = 'index_invalid';
DROP INDEX regress_other;
CREATE FUNCTION regress_trigger() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;
CREATE TRIGGER looks BEFORE INSERT ON regress_pay FOR EACH ROW EXECUTE FUNCTION regress_trigger();
CREATE TRIGGER after_it AFTER INSERT ON regress_pay FOR EACH ROW EXECUTE FUNCTION regress_trigger();
CREATE RULE nothing AS ON UPDATE TO regress_pay DO ALSO NOTHING;
CREATE RULE deletes AS ON DELETE TO regress_pay DO ALSO NOTHING;
CREATE TABLE regress_child () INHERITS (regress_pay);
ALTER TABLE regress_pay ADD CONSTRAINT later UNIQUE (id) DEFERRABLE;
ALTER TABLE regress_pay SET UNLOGGED;
SELECT severity, code, object, finding FROM idem_audit_table('regress_pay') WHERE code NOT LIKE 'fingerprint%';
DROP TABLE regress_pay CASCADE;
DROP FUNCTION regress_trigger;

-- Partitions: one key for the whole table, or one for each day, which is none.
CREATE TABLE regress_parts (tenant_id text NOT NULL, idempotency_key text NOT NULL, day date NOT NULL,
  UNIQUE (tenant_id, idempotency_key, day)) PARTITION BY RANGE (day);
CREATE TABLE regress_parts_1 PARTITION OF regress_parts FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
INSERT INTO regress_parts VALUES ('t', 'k', '2026-01-01'), ('t', 'k', '2026-01-02'), ('t', 'k2', '2026-01-02');
SELECT severity, code, object, finding, hint FROM idem_audit_table('regress_parts') ORDER BY 1, 2;
DROP TABLE regress_parts;
CREATE TABLE regress_parts (tenant_id text NOT NULL, idempotency_key text NOT NULL, UNIQUE (tenant_id, idempotency_key))
  PARTITION BY HASH (tenant_id);
CREATE UNLOGGED TABLE regress_parts_1 PARTITION OF regress_parts FOR VALUES WITH (MODULUS 1, REMAINDER 0);
SELECT severity, code, object, finding, hint FROM idem_audit_table('regress_parts');
DROP TABLE regress_parts;

-- Other names than the usual ones.
CREATE TABLE regress_named (shop text, req text);
SELECT severity, code, finding, hint FROM idem_audit_table('regress_named');
DROP TABLE regress_named;
-- Names that need quotes.
CREATE TABLE "Regress; pay" ("Ten ant" text NOT NULL, "ke""y" text NOT NULL, "ha'sh" bytea, UNIQUE ("Ten ant", "ke""y"));
SELECT idem_attach('"Regress; pay"', tenant_column => 'Ten ant', operation_column => NULL, key_column => 'ke"y',
  hash_column => 'ha''sh', id_column => NULL, fixed_operation => 'pay');
INSERT INTO "Regress; pay" VALUES ('t', 'k', '\x00'), ('t', 'k2', NULL);
SELECT severity, code, object, finding, hint FROM idem_audit_table('"Regress; pay"');
DROP TABLE "Regress; pay";

-- A key that is the primary key, too, is not shown: rows are named by their place then.
CREATE TABLE regress_pay (tenant_id text, idempotency_key text, request_hash bytea, created_at timestamptz DEFAULT now(), n int,
  PRIMARY KEY (tenant_id, idempotency_key));
SELECT idem_attach('regress_pay', operation_column => NULL, id_column => NULL, fixed_operation => 'pay');
SELECT outcome FROM generate_series(1, 2) AS g, LATERAL idem_insert('regress_pay', 'secret', 'secret' || g, '{"n": 1}');
SELECT code, finding FROM idem_audit_table('regress_pay');
DROP TABLE regress_pay;
