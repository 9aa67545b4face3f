-- Create the ledger, and give it to its owner at once. While a dump is being restored the table comes out of the dump:
-- the scripts of pg_dump set row_security, to off, or to on where the dump was made with --enable-row-security. Citus runs
-- this script on every node, but the table belongs on one.
DO $$
DECLARE
  ledger pg_catalog.regclass;
BEGIN
  IF EXISTS (
      SELECT FROM pg_catalog.pg_settings
      WHERE name OPERATOR(pg_catalog.=) 'row_security'
        AND (setting OPERATOR(pg_catalog.=) 'off' OR source OPERATOR(pg_catalog.=) 'session'))
    OR EXISTS (SELECT FROM pg_catalog.pg_extension WHERE extname OPERATOR(pg_catalog.=) 'citus')
  THEN
    RETURN;
  END IF;
  ledger := idem_create_ledger();
  IF EXISTS (
    SELECT FROM pg_catalog.pg_depend
    WHERE classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass
      AND objid OPERATOR(pg_catalog.=) ledger
      AND deptype OPERATOR(pg_catalog.=) 'e')
  THEN
    EXECUTE pg_catalog.format('ALTER EXTENSION idem DROP TABLE %s', ledger);
  END IF;
END
$$;

