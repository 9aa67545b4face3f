-- Schema, tables and columns may have any name; the statements that the audit hints at can be run as they are.
SET client_min_messages = warning;
SELECT current_database() AS home \gset
CREATE DATABASE regress_idem_names TEMPLATE template0;
\connect regress_idem_names
SET client_min_messages = warning;
CREATE SCHEMA "Odd; s'c""h %s $1";
CREATE EXTENSION idem SCHEMA "Odd; s'c""h %s $1";
SET search_path = "Odd; s'c""h %s $1";
CREATE TABLE "t %s ""'x" (
  "%I k" text, "$1" int, amount_minor int, k1 int, i1 int, seen_at int, "values" int, tenant_id text, idempotency_key text NOT NULL);
INSERT INTO "t %s ""'x" SELECT 'a', 1, g, 1, 1, 1, 1, 't', 'k' FROM generate_series(1, 2) AS g;
SELECT * FROM idem_find_duplicates('"t %s ""''x"', ARRAY['%I k', '$1', 'k1', 'i1', 'seen_at', 'values']);
SELECT severity, code, object, finding FROM idem_audit_table('"t %s ""''x"');
DELETE FROM "t %s ""'x" WHERE amount_minor = 2;
SELECT hint FROM idem_audit_table('"t %s ""''x"') WHERE code IN ('unprotected', 'column_nullable') \gexec
SELECT hint FROM idem_audit_table('"t %s ""''x"') WHERE code = 'not_attached'
\gexec
SELECT severity, code, object, finding FROM idem_audit() WHERE code <> 'fsync_off';
DROP TABLE idem_transactions;
SELECT hint FROM idem_audit() WHERE code = 'ledger_missing' \gexec
ALTER TABLE idem_transactions SET UNLOGGED;
ALTER EVENT TRIGGER idem_follow_drops DISABLE;
DROP TABLE "t %s ""'x";
DO $$
DECLARE
  statement text;
BEGIN
  FOR statement IN SELECT hint FROM idem_audit() WHERE code IN ('unlogged', 'event_trigger_disabled', 'registry_target_missing') LOOP
    EXECUTE statement;
  END LOOP;
END $$;
SELECT severity, code, object, finding FROM idem_audit() WHERE code <> 'fsync_off';
\connect :home
DROP DATABASE regress_idem_names;
