-- Whoever looks for duplicates in a table, or audits it, does not run the functions of its owner.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
DROP ROLE IF EXISTS regress_idem_mallory, regress_idem_auditor;
CREATE ROLE regress_idem_mallory;
CREATE ROLE regress_idem_auditor;
GRANT EXECUTE ON FUNCTION idem_attach, idem_audit_table, idem_find_duplicates TO regress_idem_mallory;
GRANT EXECUTE ON FUNCTION idem_audit_table, idem_find_duplicates TO regress_idem_auditor;
CREATE SCHEMA regress_hostile AUTHORIZATION regress_idem_mallory;
GRANT USAGE ON SCHEMA regress_hostile TO PUBLIC;

-- What mallory can have run by whoever reads her table. `trap` works for her only.
SET ROLE regress_idem_mallory;
CREATE FUNCTION regress_hostile.trap() RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF current_user <> 'regress_idem_mallory' THEN
    RAISE 'sprung by %', CASE current_user WHEN 'regress_idem_auditor' THEN 'the auditor' ELSE 'the superuser' END;
  END IF;
  RETURN true;
END $$;
CREATE FUNCTION regress_hostile.inlined(note text) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT regress_hostile.trap()';
CREATE FUNCTION regress_hostile.same(integer, integer) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN regress_hostile.trap(); END';
CREATE OPERATOR regress_hostile.=== (FUNCTION = regress_hostile.same, LEFTARG = integer, RIGHTARG = integer);
RESET ROLE;

-- What the statement gives as superuser, or as the other role, on a table with the device: an error, or findings.
CREATE FUNCTION pg_temp.look(device text, statement text, who text DEFAULT NULL) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  answer text;
  detail text;
BEGIN
  SET LOCAL ROLE regress_idem_mallory;
  CREATE TABLE regress_hostile.pay (id int PRIMARY KEY, tenant_id text NOT NULL, operation text NOT NULL, idempotency_key text NOT NULL,
    request_hash bytea, note text, CONSTRAINT scope_key UNIQUE (tenant_id, operation, idempotency_key));
  PERFORM public.idem_attach('regress_hostile.pay');
  INSERT INTO regress_hostile.pay VALUES (1, 't', 'o', 'k1', NULL, 'n'), (2, 't', 'o', 'k2', NULL, 'n');
  GRANT SELECT ON regress_hostile.pay TO regress_idem_auditor;
  EXECUTE device;
  RESET ROLE;
  IF who IS NOT NULL THEN
    EXECUTE format('SET LOCAL ROLE %I', who);
  END IF;
  BEGIN
    EXECUTE statement INTO answer;
  EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
    answer := concat_ws(' / ', SQLSTATE, SQLERRM, nullif(replace(detail, session_user, 'SUPERUSER'), ''));
  END;
  RESET ROLE;
  RAISE 'undo' USING DETAIL = coalesce(answer, 'nothing');
EXCEPTION WHEN raise_exception THEN
  GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
  RETURN CASE SQLERRM WHEN 'undo' THEN detail ELSE SQLERRM END;
END $$;
CREATE TEMP TABLE device (name text PRIMARY KEY, ddl text);
INSERT INTO device VALUES
  ('nothing', 'SELECT'),
  ('index predicate', 'CREATE INDEX ON regress_hostile.pay (note) WHERE regress_hostile.trap()'),
  ('predicate on the scope', 'CREATE UNIQUE INDEX ON regress_hostile.pay (tenant_id, operation, idempotency_key) WHERE regress_hostile.trap()'),
  ('the only index on the scope', 'ALTER TABLE regress_hostile.pay DROP CONSTRAINT scope_key;
    CREATE UNIQUE INDEX ON regress_hostile.pay (tenant_id, operation, idempotency_key) WHERE regress_hostile.trap()'),
  ('index expression', 'CREATE INDEX ON regress_hostile.pay (regress_hostile.trap())'),
  ('inlined function', 'CREATE INDEX ON regress_hostile.pay (id) WHERE regress_hostile.inlined(note)'),
  ('operator', 'CREATE INDEX ON regress_hostile.pay (id) WHERE 1 OPERATOR(regress_hostile.===) 1'),
  ('statistics', 'CREATE STATISTICS regress_hostile.s ON (regress_hostile.trap()), note FROM regress_hostile.pay'),
  ('check', 'ALTER TABLE regress_hostile.pay ADD CHECK (regress_hostile.trap())'),
  ('partition key', 'DROP TABLE regress_hostile.pay;
    CREATE TABLE regress_hostile.pay (id int, tenant_id text, operation text, idempotency_key text, note text)
      PARTITION BY LIST ((note || regress_hostile.trap()::text));
    CREATE TABLE regress_hostile.part PARTITION OF regress_hostile.pay DEFAULT'),
  ('index of a partition', 'DROP TABLE regress_hostile.pay;
    CREATE TABLE regress_hostile.pay (id int, tenant_id text, operation text, idempotency_key text, note text) PARTITION BY LIST (note);
    CREATE TABLE regress_hostile.part PARTITION OF regress_hostile.pay DEFAULT;
    CREATE INDEX ON regress_hostile.part (id) WHERE regress_hostile.trap()'),
  ('policy', 'ALTER TABLE regress_hostile.pay ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
    CREATE POLICY p ON regress_hostile.pay USING (regress_hostile.trap())');

-- The trap works: a plain SELECT runs into most of them, where the session has not looked at the table as mallory.
SELECT count(*) >= 4 AS sprung FROM device
WHERE pg_temp.look(ddl, 'SELECT count(*) FROM regress_hostile.pay WHERE note = ''n''') LIKE '%sprung by the superuser';
-- The audits do not.
SELECT name, pg_temp.look(ddl, $$SELECT string_agg(f.code, ' ' ORDER BY f.code COLLATE "C")
  FROM idem_audit_table('regress_hostile.pay') AS f$$) FROM device ORDER BY name COLLATE "C";
SELECT name, pg_temp.look(ddl, $$SELECT string_agg(f.code, ' ' ORDER BY f.code COLLATE "C") FROM idem_audit() AS f WHERE f.object = 'regress_hostile.pay'$$)
FROM device WHERE ddl NOT LIKE 'DROP TABLE%' ORDER BY name COLLATE "C";
SELECT name, pg_temp.look(ddl, $$SELECT sum(d.rows) || ' duplicates' FROM idem_find_duplicates('regress_hostile.pay', '{note}') AS d$$)
FROM device ORDER BY name COLLATE "C";
-- Nor do they by another role, which policies bind as well.
SELECT name, pg_temp.look(ddl, $$SELECT string_agg(f.code, ' ' ORDER BY f.code COLLATE "C")
  FROM idem_audit_table('regress_hostile.pay') AS f$$, 'regress_idem_auditor') FROM device WHERE name IN ('nothing', 'operator', 'policy') ORDER BY 1;
-- Their owner reads as ever.
SELECT name, pg_temp.look(ddl, $$SELECT sum(d.rows) || ' duplicates' FROM idem_find_duplicates('regress_hostile.pay', '{note}') AS d$$,
  'regress_idem_mallory') FROM device ORDER BY name COLLATE "C";
-- Functions of a superuser are trusted; the finding names the others.
SELECT pg_temp.look('CREATE INDEX ON regress_hostile.pay (lower(note)) WHERE upper(note) <> ''''',
  $$SELECT sum(d.rows) || ' duplicates' FROM idem_find_duplicates('regress_hostile.pay', '{note}') AS d$$);
SELECT pg_temp.look(ddl, $$SELECT replace(f.finding, quote_ident(session_user), 'SUPERUSER') || ' / ' || f.hint
  FROM idem_audit_table('regress_hostile.pay') AS f WHERE f.code = 'foreign_code'$$) FROM device WHERE name = 'operator';

-- Only who was given the right to attach brings a table before the audit.
REVOKE EXECUTE ON FUNCTION idem_attach FROM regress_idem_mallory;
SELECT pg_temp.look('SELECT', 'SELECT 1');

DROP FUNCTION pg_temp.look;
DROP TABLE device;
DROP OWNED BY regress_idem_mallory CASCADE;
DROP OWNED BY regress_idem_auditor;
DROP ROLE regress_idem_mallory, regress_idem_auditor;
