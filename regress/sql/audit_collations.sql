-- H17: collations that compare loosely, of a column or of a database, never get into a comparison of the audit; and
-- collations whose version has changed are found. Silent where the server knows no ICU collations.
SELECT count(*) > 0 AS icu FROM pg_collation WHERE collprovider = 'i' \gset
\if :icu
SET client_min_messages = warning;
CREATE COLLATION regress_loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE COLLATION regress_old (provider = icu, locale = 'en');
DO $$
BEGIN
  CREATE TABLE regress_pay (tenant_id text COLLATE regress_loose NOT NULL, idempotency_key text COLLATE regress_loose NOT NULL,
    request_hash bytea, amount_minor bigint, PRIMARY KEY (tenant_id, idempotency_key));
  INSERT INTO regress_pay VALUES ('t', 'k', NULL, 1), ('t', 'l', NULL, 1);
  -- The unique key is loose, and no protection.
  ASSERT (SELECT array_agg(code || ' ' || object ORDER BY code, object) = ARRAY['column_nondeterministic public.regress_pay.idempotency_key',
      'column_nondeterministic public.regress_pay.tenant_id', 'key_nondeterministic public.regress_pay_pkey',
      'unprotected public.regress_pay']
    FROM idem_audit_table('regress_pay') WHERE severity = 'error');
  ASSERT (SELECT hint = 'CREATE UNIQUE INDEX CONCURRENTLY ON public.regress_pay (tenant_id COLLATE "C", idempotency_key COLLATE "C");'
    FROM idem_audit_table('regress_pay') WHERE code = 'unprotected');
  ALTER TABLE regress_pay DROP CONSTRAINT regress_pay_pkey;
  -- Octets are compared: k and K are two keys.
  INSERT INTO regress_pay VALUES ('t', 'K', NULL, 1), ('T', 'k', NULL, 1), ('t', 'k', NULL, 4);
  ASSERT (SELECT array_agg("values" ->> 'idempotency_key' || "rows" || amount) = '{k25}'
    FROM idem_find_duplicates('regress_pay', '{tenant_id,idempotency_key}'));
  ASSERT (SELECT count(*) = 1 FROM idem_audit_table('regress_pay') WHERE code = 'duplicates');
  -- An index with a strict collation on the loose columns protects; that the columns are loose is told.
  DELETE FROM regress_pay WHERE amount_minor = 4;
  CREATE UNIQUE INDEX regress_strict ON regress_pay (tenant_id COLLATE "C", idempotency_key COLLATE "C");
  ASSERT (SELECT array_agg(DISTINCT severity || ' ' || code) = '{"notice not_attached","warning column_nondeterministic"}'
    FROM idem_audit_table('regress_pay'));
  DROP TABLE regress_pay;
END $$;

-- A collation that is not of the version that the index was built with.
CREATE TABLE regress_pay (tenant_id text COLLATE regress_old NOT NULL, idempotency_key text COLLATE "C" NOT NULL,
  request_hash bytea, amount_minor bigint, UNIQUE (tenant_id, idempotency_key));
DO $$
BEGIN
  ASSERT NOT EXISTS (SELECT FROM idem_audit_table('regress_pay') WHERE code = 'collation_drift');
  UPDATE pg_collation SET collversion = '0' WHERE collname = 'regress_old';
  ASSERT (SELECT severity = 'error' AND object = 'public.regress_pay_tenant_id_idempotency_key_key'
      AND finding LIKE 'its order is that of version 0 of collation public.regress_old, which is version % now'
      AND hint LIKE 'REINDEX INDEX CONCURRENTLY public.regress_pay_tenant_id_idempotency_key_key; %'
        'ALTER COLLATION public.regress_old REFRESH VERSION;'
    FROM idem_audit_table('regress_pay') WHERE code = 'collation_drift');
END $$;
ALTER COLLATION regress_old REFRESH VERSION;
DO $$
BEGIN
  ASSERT NOT EXISTS (SELECT FROM idem_audit_table('regress_pay') WHERE code = 'collation_drift');
END $$;
DROP TABLE regress_pay;
DROP COLLATION regress_loose, regress_old;

-- A database whose default is ICU's.
SELECT current_database() AS home \gset
CREATE DATABASE regress_idem_icu TEMPLATE template0 ENCODING 'UTF8' LOCALE_PROVIDER icu ICU_LOCALE 'en' LOCALE 'C';
\connect regress_idem_icu
SET client_min_messages = warning;
CREATE EXTENSION idem;
CREATE TABLE regress_pay (tenant_id text NOT NULL, idempotency_key text NOT NULL, "Né" text, UNIQUE (tenant_id, idempotency_key));
INSERT INTO regress_pay VALUES ('t', 'k', 'ä'), ('t', 'K', 'ä'), ('ä', 'k', 'A');
DO $$
BEGIN
  PERFORM idem_create_transaction('t', k, 1, 'EUR') FROM unnest(ARRAY['a', 'A', 'ä']) AS k;
  ASSERT (SELECT array_agg(DISTINCT code) = '{repeated_content}' FROM idem_audit() WHERE code <> 'fsync_off');
  ASSERT (SELECT array_agg(code) = '{not_attached}' FROM idem_audit_table('regress_pay'));
  ASSERT (SELECT "values" = '{"Né": "ä"}' AND "rows" = 2 FROM idem_find_duplicates('regress_pay', '{Né}'));
  -- The database's own version: a warning for it, an error for the index that hangs on it. The ledger's do not.
  UPDATE pg_database SET datcollversion = '0' WHERE datname = current_database();
  ASSERT (SELECT array_agg(severity || ' ' || code || ' ' || object ORDER BY severity)
      = '{"notice repeated_content public.idem_transactions","warning database_collation_drift database regress_idem_icu"}'
    FROM idem_audit() WHERE code <> 'fsync_off');
  ASSERT (SELECT array_agg(severity || ' ' || code || ' ' || object ORDER BY severity) =
      '{"error collation_drift public.regress_pay_tenant_id_idempotency_key_key","notice not_attached public.regress_pay"}'
    FROM idem_audit_table('regress_pay'));
END $$;
\connect :home
SET client_min_messages = error;
DROP DATABASE regress_idem_icu;
\endif
