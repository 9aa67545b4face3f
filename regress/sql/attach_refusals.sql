-- What idem_attach refuses, why, and that what its hints say helps.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
DROP ROLE IF EXISTS regress_idem_owner, regress_idem_member, regress_idem_app;
CREATE SCHEMA attach;
SET search_path = attach, public;
CREATE FUNCTION attach.make(name text, keys text DEFAULT '') RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('DROP TABLE IF EXISTS attach.%I', name);
  EXECUTE format('CREATE TABLE attach.%I (id bigserial PRIMARY KEY, tenant_id text NOT NULL, operation text NOT NULL, '
    'idempotency_key text NOT NULL, request_hash bytea, note text %s)', name, keys);
END $$;

-- No index; the hint's DDL makes the attach work.
SELECT make('pay');
\set VERBOSITY default
SELECT idem_attach('pay');
CREATE UNIQUE INDEX CONCURRENTLY pay_idem_scope_key ON attach.pay (tenant_id, operation, idempotency_key);
ALTER TABLE attach.pay ADD CONSTRAINT pay_idem_scope_key UNIQUE USING INDEX pay_idem_scope_key;
SELECT idem_attach('pay');
SELECT outcome FROM idem_insert('pay', 't', 'k', '{}', 'op');

-- An index that is not unique.
SELECT make('pay');
CREATE INDEX plain ON pay (tenant_id, operation, idempotency_key);
SELECT idem_attach('pay');

-- H66: one that failed to build is named, and the hint replaces it.
SELECT make('pay');
INSERT INTO pay (tenant_id, operation, idempotency_key) VALUES ('t', 'op', 'k'), ('t', 'op', 'k');
\set VERBOSITY sqlstate
CREATE UNIQUE INDEX CONCURRENTLY pay_idem_scope_key ON pay (tenant_id, operation, idempotency_key);
\set VERBOSITY default
SELECT idem_attach('pay');
DELETE FROM pay WHERE ctid <> (SELECT min(ctid) FROM pay);
DROP INDEX CONCURRENTLY attach.pay_idem_scope_key;
CREATE UNIQUE INDEX CONCURRENTLY pay_idem_scope_key ON attach.pay (tenant_id, operation, idempotency_key);
ALTER TABLE attach.pay ADD CONSTRAINT pay_idem_scope_key UNIQUE USING INDEX pay_idem_scope_key;
SELECT idem_attach('pay');
SELECT outcome FROM idem_insert('pay', 't', 'k', '{}', 'op');

-- Partial, and on an expression.
SELECT make('pay');
CREATE UNIQUE INDEX partial ON pay (tenant_id, operation, idempotency_key) WHERE note IS NULL;
SELECT idem_attach('pay');
DROP INDEX partial;
CREATE UNIQUE INDEX expression ON pay (tenant_id, operation, lower(idempotency_key));
SELECT idem_attach('pay');

-- H83: a deferrable constraint on the scope, alone and beside a good one.
SELECT make('pay', ', CONSTRAINT later UNIQUE (tenant_id, operation, idempotency_key) DEFERRABLE');
SELECT idem_attach('pay');
CREATE UNIQUE INDEX CONCURRENTLY pay_idem_scope_key ON attach.pay (tenant_id, operation, idempotency_key);
ALTER TABLE attach.pay ADD CONSTRAINT pay_idem_scope_key UNIQUE USING INDEX pay_idem_scope_key;
SELECT idem_attach('pay');
ALTER TABLE attach.pay DROP CONSTRAINT later;
SELECT idem_attach('pay');
SELECT outcome FROM idem_insert('pay', 't', 'k', '{}', 'op');
-- It may come afterwards; then the call says so.
ALTER TABLE pay ADD CONSTRAINT later UNIQUE (tenant_id, operation, idempotency_key) DEFERRABLE;
SELECT outcome FROM idem_insert('pay', 't', 'k', '{}', 'op');

-- H83: further deferrable constraints; immediate ones work.
SELECT make('pay', ', UNIQUE (tenant_id, operation, idempotency_key), CONSTRAINT note_later UNIQUE (note) DEFERRABLE INITIALLY DEFERRED');
SELECT idem_attach('pay');
SELECT make('pay', ', UNIQUE (tenant_id, operation, idempotency_key), CONSTRAINT apart_later EXCLUDE (note WITH =) DEFERRABLE');
SELECT idem_attach('pay');
SELECT make('pay', ', UNIQUE (tenant_id, operation, idempotency_key), CONSTRAINT apart EXCLUDE (note WITH =)');
SELECT idem_attach('pay');
SELECT outcome FROM idem_insert('pay', 't', 'k', '{"note": "n"}', 'op');
SELECT outcome FROM idem_insert('pay', 't', 'k', '{"note": "n"}', 'op');
SELECT outcome FROM idem_insert('pay', 't', 'k2', '{"note": "n"}', 'op');

-- Columns that may be null, and NULLS NOT DISTINCT, with which they may.
SELECT make('pay', ', UNIQUE (tenant_id, operation, idempotency_key)');
ALTER TABLE pay ALTER tenant_id DROP NOT NULL, ALTER idempotency_key DROP NOT NULL;
SELECT idem_attach('pay');
ALTER TABLE attach.pay ALTER COLUMN tenant_id SET NOT NULL, ALTER COLUMN idempotency_key SET NOT NULL;
SELECT idem_attach('pay');
SELECT make('pay', ', UNIQUE NULLS NOT DISTINCT (tenant_id, operation, idempotency_key)');
ALTER TABLE pay ALTER operation DROP NOT NULL;
SELECT idem_attach('pay');

-- Collations and types in which different keys are equal.
CREATE COLLATION attach.blind (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
SELECT make('pay');
CREATE UNIQUE INDEX pay_blind ON pay (tenant_id, operation, idempotency_key COLLATE attach.blind);
SELECT idem_attach('pay');
-- The same index beside a good one is a further key.
CREATE UNIQUE INDEX pay_good ON pay (tenant_id, operation, idempotency_key);
SELECT idem_attach('pay');
SELECT outcome FROM idem_insert('pay', 't', 'k', '{}', 'op');
SELECT outcome FROM idem_insert('pay', 't', 'K', '{}', 'op');
SELECT make('pay', ', UNIQUE (tenant_id, operation, idempotency_key)');
ALTER TABLE pay ALTER idempotency_key TYPE numeric USING 0;
SELECT idem_attach('pay');
-- Types that cut or round what they read: two keys would find one row.
CREATE FUNCTION pg_temp.state(type text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  PERFORM attach.make('pay', ', UNIQUE (tenant_id, operation, idempotency_key)');
  EXECUTE 'ALTER TABLE attach.pay ALTER idempotency_key TYPE ' || type || ' USING NULL';
  PERFORM idem_attach('attach.pay');
  RETURN 'attached';
EXCEPTION WHEN OTHERS THEN
  RETURN SQLSTATE;
END $$;
CREATE TYPE attach.state AS ENUM ('a', 'b');
CREATE DOMAIN attach.code AS text CHECK (VALUE <> '');
CREATE DOMAIN attach.short_name AS name;
SELECT type, pg_temp.state(type) FROM (VALUES ('name'), ('"char"'), ('money'), ('date'), ('timestamptz(0)'), ('time'), ('bytea'),
  ('float8'), ('bpchar'), ('boolean'), ('bit varying'), ('interval'), ('text[]'), ('attach.short_name'),
  ('text'), ('varchar'), ('varchar(40)'), ('char(40)'), ('uuid'), ('smallint'), ('int'), ('bigint'), ('attach.state'),
  ('attach.code')) t (type);

-- Wider indexes, on a plain table and on one that is partitioned by time.
SELECT make('pay', ', UNIQUE (tenant_id, operation, idempotency_key, id)');
SELECT idem_attach('pay');
CREATE TABLE part (id bigint, tenant_id text NOT NULL, operation text NOT NULL, idempotency_key text NOT NULL, request_hash bytea,
  at timestamptz NOT NULL) PARTITION BY RANGE (at);
SELECT idem_attach('part');
CREATE UNIQUE INDEX part_key ON part (tenant_id, operation, idempotency_key, at);
SELECT idem_attach('part');
DROP TABLE part;
-- By tenant it is fine; an index that is not on every partition is not.
CREATE TABLE part (id bigint, tenant_id text NOT NULL, operation text NOT NULL, idempotency_key text NOT NULL, request_hash bytea,
  at timestamptz) PARTITION BY HASH (tenant_id);
CREATE TABLE part_0 PARTITION OF part FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE part_1 PARTITION OF part FOR VALUES WITH (MODULUS 2, REMAINDER 1);
SELECT idem_attach('part');
CREATE UNIQUE INDEX part_only ON ONLY part (tenant_id, operation, idempotency_key);
SELECT idem_attach('part');
DROP INDEX attach.part_only;
CREATE UNIQUE INDEX part_idem_scope_key ON attach.part (tenant_id, operation, idempotency_key);
SELECT idem_attach('part');
SELECT outcome FROM idem_insert('part', 't', 'k', '{}', 'op');
SELECT outcome FROM idem_insert('part', 't', 'k', '{}', 'op');
-- Other orders of the columns and INCLUDE are fine; an index on fewer columns protects, but not the scope that is named.
SELECT make('pay');
CREATE UNIQUE INDEX pay_other ON pay (idempotency_key, operation DESC, tenant_id NULLS FIRST) INCLUDE (note, id);
SELECT idem_attach('pay');
SELECT outcome FROM idem_insert('pay', 't', 'k', '{}', 'op');
SELECT make('pay', ', UNIQUE (tenant_id, idempotency_key)');
SELECT idem_attach('pay');
SELECT idem_attach('pay', fixed_operation => 'op');
-- Long and odd names are quoted in what is said.
CREATE TABLE "Pay ""x""" ("The tenant" text NOT NULL, "a""b" text NOT NULL, request_hash bytea);
SELECT idem_attach('"Pay ""x"""', tenant_column => 'The tenant', key_column => 'a"b', id_column => NULL, fixed_operation => 'op');
CREATE UNIQUE INDEX CONCURRENTLY "Pay ""x""_idem_scope_key" ON attach."Pay ""x""" ("The tenant", "a""b");
ALTER TABLE attach."Pay ""x""" ADD CONSTRAINT "Pay ""x""_idem_scope_key" UNIQUE USING INDEX "Pay ""x""_idem_scope_key";
SELECT idem_attach('"Pay ""x"""', tenant_column => 'The tenant', key_column => 'a"b', id_column => NULL, fixed_operation => 'op');
SELECT idem_detach('"Pay ""x"""');

-- Columns: missing, of the wrong type, named twice, generated.
SELECT make('pay', ', UNIQUE (tenant_id, operation, idempotency_key)');
SELECT idem_attach('pay', tenant_column => 'tenant');
SELECT idem_attach('pay', hash_column => 'note');
SELECT idem_attach('pay', tenant_column => 'idempotency_key');
SELECT make('pay', ', given text NOT NULL GENERATED ALWAYS AS (''x'') STORED, UNIQUE (tenant_id, given, idempotency_key)');
SELECT idem_attach('pay', operation_column => 'given');
\set VERBOSITY sqlstate
SELECT idem_attach('pay', operation_column => 'nope');
SELECT idem_attach('pay', key_column => 'ID');
SELECT idem_attach('pay', hash_column => '');
SELECT idem_attach('pay', id_column => 'ctid');
SELECT make('pay', ', number bigint GENERATED ALWAYS AS IDENTITY, by_default bigint GENERATED BY DEFAULT AS IDENTITY,
  UNIQUE (tenant_id, operation, idempotency_key), UNIQUE (tenant_id, operation, number), UNIQUE (tenant_id, operation, by_default)');
SELECT idem_attach('pay', operation_column => 'idempotency_key');
SELECT idem_attach('pay', tenant_column => 'operation', operation_column => 'operation', key_column => 'operation');
SELECT idem_attach('pay', tenant_column => 'tenant_id', key_column => 'tenant_id', fixed_operation => 'op');
SELECT idem_attach('pay', hash_column => 'idempotency_key');
SELECT idem_attach('pay', key_column => 'number');
SELECT idem_attach('pay', key_column => 'by_default');
ALTER TABLE pay DROP COLUMN note;
SELECT idem_attach('pay', id_column => '........pg.dropped.6........');

-- Arguments: NULL, and texts that are no operation or no path.
SELECT idem_attach(NULL);
SELECT idem_attach('pay', tenant_column => NULL);
SELECT idem_attach('pay', operation_column => NULL);
SELECT idem_attach('pay', key_column => NULL);
SELECT idem_attach('pay', hash_column => NULL);
SELECT idem_attach('pay', fixed_operation => '');
SELECT idem_attach('pay', fixed_operation => ' op');
SELECT idem_attach('pay', fixed_operation => E'o\np');
SELECT idem_attach('pay', fixed_operation => repeat('x', 101));
SELECT idem_attach('pay', exclude => '{sent_at}');
SELECT idem_attach('pay', exclude => '{$.sent_at,NULL}');
SELECT idem_attach('pay', exclude => '{$}');
SELECT idem_attach('pay', exclude => ARRAY['$.' || repeat('x', 999)]);
SELECT idem_detach(NULL);
SELECT idem_detach('pay_id_seq');

-- Objects that are no table of the user's.
CREATE VIEW a_view AS SELECT * FROM pay;
CREATE MATERIALIZED VIEW a_matview AS SELECT * FROM pay;
CREATE FOREIGN DATA WRAPPER regress_idem_wrapper;
CREATE SERVER regress_idem_server FOREIGN DATA WRAPPER regress_idem_wrapper;
CREATE FOREIGN TABLE a_foreign_table (id bigint, tenant_id text, operation text, idempotency_key text, request_hash bytea)
  SERVER regress_idem_server;
CREATE TYPE a_type AS (id bigint);
CREATE TEMP TABLE a_temp (id bigint, tenant_id text NOT NULL, operation text NOT NULL, idempotency_key text NOT NULL,
  request_hash bytea, UNIQUE (tenant_id, operation, idempotency_key));
\set VERBOSITY default
SELECT idem_attach('a_view');
SELECT idem_attach('a_temp');
SELECT idem_attach('part_0');
SELECT idem_attach('pg_catalog.pg_class');
SELECT idem_attach('idem_transactions');
\set VERBOSITY sqlstate
SELECT idem_attach('a_matview');
SELECT idem_attach('a_foreign_table');
SELECT idem_attach('a_type');
SELECT idem_attach('pay_id_seq');
SELECT idem_attach('pay_pkey');
SELECT idem_attach('information_schema.tables');
SELECT idem_attach((SELECT reltoastrelid FROM pg_class WHERE oid = 'pay'::regclass));
SELECT idem_attach(4294967295::oid);
SELECT idem_insert('a_view', 't', 'k', '{}', 'op');
SELECT idem_insert('a_foreign_table', 't', 'k', '{}', 'op');
SELECT idem_insert('a_temp', 't', 'k', '{}', 'op');
SELECT idem_insert('part_0', 't', 'k', '{}', 'op');
SELECT idem_insert('pg_catalog.pg_class', 't', 'k', '{}', 'op');
SELECT idem_insert('pay_id_seq', 't', 'k', '{}', 'op');
SELECT idem_insert('idem_transactions', 't', 'k', '{}', 'op');
SELECT idem_insert('idem_tables', 't', 'k', '{}', 'op');
SELECT idem_insert(4294967295::oid, 't', 'k', '{}', 'op');
DROP SERVER regress_idem_server CASCADE;
DROP FOREIGN DATA WRAPPER regress_idem_wrapper;
DROP TABLE a_temp;
DROP VIEW a_view;
DROP MATERIALIZED VIEW a_matview;

-- A partition that becomes a table of its own can be attached, and no longer when it is a partition again.
ALTER TABLE part DETACH PARTITION part_0;
SELECT idem_attach('part_0');
SELECT outcome FROM idem_insert('part_0', 't9', 'k', '{}', 'op');
DELETE FROM part_0;
ALTER TABLE part ATTACH PARTITION part_0 FOR VALUES WITH (MODULUS 2, REMAINDER 0);
SELECT outcome FROM idem_insert('part_0', 't9', 'k', '{}', 'op');

-- Rules.
SELECT make('pay', ', UNIQUE (tenant_id, operation, idempotency_key)');
CREATE RULE audit AS ON UPDATE TO pay DO ALSO NOTIFY pay;
\set VERBOSITY default
SELECT idem_attach('pay');
\set VERBOSITY sqlstate
DROP RULE audit ON pay;
CREATE RULE gone AS ON DELETE TO pay DO INSTEAD NOTHING;
SELECT idem_attach('pay');
DROP RULE gone ON pay;

-- Only the owner attaches, who was granted to, and detaches, by membership, too; whoever may insert calls.
CREATE ROLE regress_idem_owner;
CREATE ROLE regress_idem_member IN ROLE regress_idem_owner;
CREATE ROLE regress_idem_app;
GRANT USAGE ON SCHEMA attach TO PUBLIC;
SELECT idem_detach('pay');
ALTER TABLE pay OWNER TO regress_idem_owner;
GRANT SELECT, INSERT ON pay TO regress_idem_app;
GRANT USAGE ON SEQUENCE pay_id_seq TO regress_idem_app;
SET ROLE regress_idem_member;
SELECT idem_attach('pay');
RESET ROLE;
GRANT EXECUTE ON FUNCTION public.idem_attach TO regress_idem_owner, regress_idem_app;
SET ROLE regress_idem_app;
\set VERBOSITY default
SELECT idem_attach('pay');
\set VERBOSITY sqlstate
SELECT idem_detach('pay');
INSERT INTO public.idem_tables SELECT * FROM public.idem_tables;
UPDATE public.idem_tables SET exclude = '{}';
DELETE FROM public.idem_tables;
SET ROLE regress_idem_member;
SELECT idem_attach('pay');
SELECT outcome FROM idem_insert('pay', 't', 'k', '{}', 'op');
SET ROLE regress_idem_app;
SELECT outcome FROM idem_insert('pay', 't', 'k', '{}', 'op');
SELECT outcome FROM idem_insert('pay', 't', 'k2', '{}', 'op');
SELECT idem_detach('pay');
RESET ROLE;
REVOKE INSERT ON pay FROM regress_idem_app;
SET ROLE regress_idem_app;
SELECT outcome FROM idem_insert('pay', 't', 'k', '{}', 'op');
RESET ROLE;
GRANT INSERT (tenant_id) ON pay TO regress_idem_app;
SET ROLE regress_idem_app;
SELECT outcome FROM idem_insert('pay', 't', 'k3', '{}', 'op');
RESET ROLE;
ALTER TABLE pay OWNER TO CURRENT_USER;
REVOKE ALL ON SCHEMA attach FROM PUBLIC;
DROP OWNED BY regress_idem_owner, regress_idem_member, regress_idem_app;
DROP ROLE regress_idem_owner, regress_idem_member, regress_idem_app;

-- A transaction that only reads.
BEGIN READ ONLY;
SELECT idem_attach('pay');
ROLLBACK;
BEGIN READ ONLY;
SELECT idem_detach('pay');
ROLLBACK;
BEGIN READ ONLY;
SELECT idem_insert('pay', 't', 'k', '{}', 'op');
ROLLBACK;

-- Attached again, it has the new settings; one that is refused changes nothing, and neither does one that is undone.
SELECT idem_attach('pay', exclude => '{$.b,$.a}');
SELECT tenant_column, operation_column, fixed_operation, id_column, exclude FROM idem_tables WHERE target = 'pay'::regclass;
SELECT idem_attach('pay', id_column => NULL, exclude => NULL);
SELECT tenant_column, operation_column, fixed_operation, id_column, exclude FROM idem_tables WHERE target = 'pay'::regclass;
CREATE UNIQUE INDEX ON pay (tenant_id, note);
UPDATE pay SET note = id::text;
ALTER TABLE pay ALTER note SET NOT NULL;
SELECT idem_attach('pay', fixed_operation => 'op', key_column => 'note');
BEGIN;
SELECT idem_attach('pay', exclude => '{$.x}');
SELECT exclude FROM idem_tables WHERE target = 'pay'::regclass;
ROLLBACK;
SELECT tenant_column, operation_column, fixed_operation, id_column, exclude FROM idem_tables WHERE target = 'pay'::regclass;
-- A refused attach leaves table, indexes, registry and dependencies as they were.
SELECT make('pay');
CREATE FUNCTION pg_temp.catalog() RETURNS text LANGUAGE sql AS $$
  SELECT md5(concat((SELECT string_agg(c::text, ',' ORDER BY oid) FROM pg_class c WHERE relnamespace = 'attach'::regnamespace),
    (SELECT string_agg(c::text, ',' ORDER BY oid) FROM pg_constraint c WHERE connamespace = 'attach'::regnamespace),
    (SELECT string_agg(a::text, ',' ORDER BY a::text) FROM pg_attribute a JOIN pg_class c ON c.oid = attrelid
     WHERE relnamespace = 'attach'::regnamespace),
    (SELECT count(*) FROM pg_depend WHERE refobjid = 'attach.pay'::regclass),
    (SELECT count(*) FROM pg_trigger WHERE tgrelid = 'attach.pay'::regclass),
    (SELECT string_agg(t::text, ',' ORDER BY target) FROM idem_tables t)))
$$;
SELECT pg_temp.catalog() AS before \gset
SELECT idem_attach('pay');
SELECT pg_temp.catalog() = :'before' AS unchanged;
-- A name in an argument is a name, and no SQL.
SELECT idem_attach('pay', tenant_column => 'x"; DROP TABLE attach.pay; --');
SELECT idem_attach('pay', fixed_operation => '''; DROP TABLE attach.pay; --');
SELECT to_regclass('attach.pay') IS NOT NULL AS there;

DROP SCHEMA attach CASCADE;
SELECT count(*) FROM idem_tables;
