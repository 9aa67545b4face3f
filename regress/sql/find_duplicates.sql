-- Groups of rows that share a key, read from the table itself.
SET client_min_messages = warning;
CREATE TABLE regress_pay (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, tenant text, key text, kind char(3), amount_minor int, "Odd ""col" numeric);
INSERT INTO regress_pay (tenant, key, kind, amount_minor, "Odd ""col")
SELECT 't' || g % 2, CASE WHEN g > 8 THEN 'k' || g ELSE 'k' || g % 4 END, 'pay', g, g * 0.5 FROM generate_series(1, 12) AS g;
INSERT INTO regress_pay (tenant, key, amount_minor) VALUES (NULL, 'k1', 100), (NULL, 'k1', 100), ('t1', NULL, 100), ('t1', NULL, 100);
INSERT INTO regress_pay (tenant, key, amount_minor) VALUES ('t1', 'K1', 1000), ('t1', 'k1 ', 1000), ('t1', 'k1', 1000);

-- Each group with its rows, ids and sum, the largest first; other octets make another group, and a NULL makes none.
SELECT * FROM idem_find_duplicates('regress_pay', '{tenant,key}');
-- Bounded: some groups, some ids; how many there are in all is told.
SELECT * FROM idem_find_duplicates('regress_pay', '{tenant}', max_groups => 1, max_ids => 3);
-- Another column to add up, with a name that needs quotes; one that is no number; none.
SELECT "rows", amount FROM idem_find_duplicates('regress_pay', '{tenant,key}', amount_column => 'Odd "col', max_groups => 2);
CREATE TABLE regress_plain (k int, amount_minor text);
INSERT INTO regress_plain VALUES (1, 'x'), (2, 'y'), (1, 'z');
-- Without a primary key rows are named by their place.
SELECT * FROM idem_find_duplicates('regress_plain', '{k}');
-- A primary key of several columns; what the rows of a group have in common is left out of it.
ALTER TABLE regress_plain ADD n int NOT NULL DEFAULT 7, ADD PRIMARY KEY (amount_minor, n, k);
SELECT * FROM idem_find_duplicates('regress_plain', '{k}');
SELECT * FROM idem_find_duplicates('regress_plain', '{k,n}');
-- A primary key that is damaged itself.
UPDATE pg_index SET indislive = false, indisready = false WHERE indexrelid = 'regress_plain_pkey'::regclass;
INSERT INTO regress_plain VALUES (2, 'y', 7);
UPDATE pg_index SET indislive = true, indisready = true WHERE indexrelid = 'regress_plain_pkey'::regclass;
SELECT * FROM idem_find_duplicates('regress_plain', '{k,amount_minor,n}');
DROP TABLE regress_plain;

-- Partitions: with a primary key, and without.
CREATE TABLE regress_parts (tenant text, key text) PARTITION BY HASH (tenant);
CREATE TABLE regress_parts_0 PARTITION OF regress_parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE regress_parts_1 PARTITION OF regress_parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO regress_parts SELECT 't' || g % 3, 'k' || g % 4 FROM generate_series(1, 14) AS g;
SELECT "values", "rows", jsonb_path_query_array(ids, '$[*].table') AS tables, groups
FROM idem_find_duplicates('regress_parts', '{tenant,key}');
DROP TABLE regress_parts;
-- Rows of inheritance children are not those of the table.
CREATE TABLE regress_child () INHERITS (regress_pay);
INSERT INTO regress_child (id, tenant, key) VALUES (1, 't1', 'k9');
SELECT count(*) FROM idem_find_duplicates('regress_pay', '{tenant,key}') WHERE "values" ->> 'key' = 'k9';
DROP TABLE regress_child;

-- Types: those that have no order of their own in pg_catalog's operators, those without equality, and domains.
CREATE TYPE regress_state AS ENUM ('new', 'done');
CREATE DOMAIN regress_code AS varchar(10);
CREATE DOMAIN regress_code2 AS regress_code CHECK (VALUE <> '');
CREATE TABLE regress_types (s regress_state, a text[], d regress_code2, r int4range, b bytea, j json, f float8);
INSERT INTO regress_types SELECT 'done', '{x,NULL}', 'c', '[1,3)', '\x00ff', '1', 'NaN' FROM generate_series(1, 2);
SELECT "values", "rows" FROM idem_find_duplicates('regress_types', '{s,a,d,r,b,f}');
\set VERBOSITY sqlstate
SELECT * FROM idem_find_duplicates('regress_types', '{j}');
\set VERBOSITY default
-- A cast of the type's owner is not run.
CREATE FUNCTION regress_spy(regress_state) RETURNS json LANGUAGE plpgsql AS $$ BEGIN RAISE 'the cast was run'; END $$;
CREATE FUNCTION regress_spy_text(regress_state) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE 'the cast was run'; END $$;
CREATE CAST (regress_state AS json) WITH FUNCTION regress_spy(regress_state) AS IMPLICIT;
CREATE CAST (regress_state AS text) WITH FUNCTION regress_spy_text(regress_state) AS IMPLICIT;
SELECT "values", "rows" FROM idem_find_duplicates('regress_types', '{s}');
DROP TABLE regress_types;
DROP TYPE regress_state CASCADE;
DROP DOMAIN regress_code CASCADE;

-- Refused.
\set VERBOSITY sqlstate
SELECT * FROM idem_find_duplicates('regress_pay', '{tenant,nokey}');
SELECT * FROM idem_find_duplicates('regress_pay', '{ctid}');
SELECT * FROM idem_find_duplicates('regress_pay', '{}');
SELECT * FROM idem_find_duplicates('regress_pay', NULL);
SELECT * FROM idem_find_duplicates('regress_pay', '{tenant,NULL}');
SELECT * FROM idem_find_duplicates('regress_pay', '{tenant,tenant}');
SELECT * FROM idem_find_duplicates('regress_pay', '{tenant}', amount_column => 'nothing');
SELECT * FROM idem_find_duplicates('regress_pay', '{tenant}', amount_column => 'key');
SELECT * FROM idem_find_duplicates('regress_pay', '{tenant}', max_groups => 0);
SELECT * FROM idem_find_duplicates('regress_pay', '{tenant}', max_ids => NULL);
SELECT * FROM idem_find_duplicates(NULL, '{tenant}');
DROP TABLE regress_pay;
