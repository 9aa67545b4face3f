-- H17: nondeterministic collations, of a column or beside the ledger, never get into a comparison of the extension.
-- Silent where the server knows no ICU collations.
SELECT count(*) > 0 AS icu FROM pg_collation WHERE collprovider = 'i' \gset
\if :icu
CREATE COLLATION regress_loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);

-- A column of the ledger that compares loosely is refused, and named.
DO $$
DECLARE
  key_column text;
  said text;
BEGIN
  FOREACH key_column IN ARRAY ARRAY['tenant_id', 'operation', 'idempotency_key', 'order_ref', 'currency'] LOOP
    BEGIN
      EXECUTE format('ALTER TABLE idem_transactions ALTER %I TYPE text COLLATE regress_loose', key_column);
      PERFORM idem_create_transaction('t', 'k', 1, 'EUR');
      RAISE 'the call was served with a loose %', key_column USING ERRCODE = 'assert_failure';
    EXCEPTION WHEN object_not_in_prerequisite_state THEN
      GET STACKED DIAGNOSTICS said = PG_EXCEPTION_DETAIL;
      ASSERT said = format('Column %s must have the collation "C".', key_column), said;
    END;
  END LOOP;
END $$;

-- A loose unique index on the columns of the scope does not count as the ledger's.
DO $$
BEGIN
  ALTER TABLE idem_transactions DROP CONSTRAINT idem_transactions_scope_key;
  CREATE UNIQUE INDEX ON idem_transactions (tenant_id, operation, idempotency_key COLLATE regress_loose);
  PERFORM idem_create_transaction('t', 'k', 1, 'EUR');
  RAISE 'the call was served with a loose index' USING ERRCODE = 'assert_failure';
EXCEPTION WHEN object_not_in_prerequisite_state THEN
  NULL;
END $$;

-- Beside the ledger's own it is a further unique key: the same key replays, and another one that clashes on it is told so.
DO $$
DECLARE
  loose_index text;
  call text;
  said text;
BEGIN
  FOREACH loose_index IN ARRAY ARRAY['operation, idempotency_key COLLATE regress_loose', 'operation, order_ref COLLATE regress_loose',
    'lower(idempotency_key) COLLATE regress_loose'] LOOP
    EXECUTE format('CREATE UNIQUE INDEX regress_loose_key ON idem_transactions (tenant_id, %s)', loose_index);
    ASSERT (idem_create_transaction('t', 'k', 1, 'EUR', order_ref => 'o')).outcome = 'created', loose_index;
    ASSERT (idem_create_transaction('t', 'k', 1, 'EUR', order_ref => 'o')).outcome = 'replayed', loose_index;
    FOREACH call IN ARRAY ARRAY['idem_create_transaction(''t'', ''K'', 1, ''EUR'', order_ref => ''O'')',
      'idem_try_create_transaction(''t'', ''K'', 1, ''EUR'', order_ref => ''O'')',
      'idem_create_transaction(''t'', ''K'', 1, ''EUR'')'] LOOP
      CONTINUE WHEN loose_index LIKE '%order_ref%' AND call NOT LIKE '%order_ref%';
      BEGIN
        EXECUTE 'SELECT ' || call;
        RAISE 'the clash was not told by %', call USING ERRCODE = 'assert_failure';
      EXCEPTION WHEN unique_violation THEN
        GET STACKED DIAGNOSTICS said = CONSTRAINT_NAME;
        ASSERT said = 'regress_loose_key', said;
      END;
    END LOOP;
    ASSERT (idem_create_transaction('t', 'k', 1, 'EUR', order_ref => 'o')).outcome = 'replayed', loose_index;
    ASSERT (SELECT count(*) = 1 FROM idem_transactions), loose_index;
    DELETE FROM idem_transactions;
    DROP INDEX regress_loose_key;
  END LOOP;
END $$;

-- A loose column of the user's, with a unique key of its own, changes nothing: keys stay apart by case.
BEGIN;
DO $$
BEGIN
  ALTER TABLE idem_transactions ADD note text COLLATE regress_loose UNIQUE;
  ASSERT (SELECT array_agg(f.outcome::text ORDER BY k) = '{created,created}'
          FROM unnest(ARRAY['k', 'K']) k, LATERAL idem_create_transaction('t', k, 1, 'EUR') f);
  ASSERT (SELECT outcome = 'replayed' FROM idem_create_transaction('t', 'K', 1, 'EUR'));
END $$;
ROLLBACK;

-- Tenants of an attached table that compare as equal are different tenants, and the wall stands between them. What is in
-- order is not written again.
BEGIN;
CREATE ROLE regress_idem_app;
DO $$
DECLARE
  type text;
  written text[];
BEGIN
  PERFORM idem_grant('regress_idem_app');
  CREATE DOMAIN regress_varchar AS varchar(9) COLLATE regress_loose;
  CREATE DOMAIN regress_text AS text COLLATE regress_loose;
  FOREACH type IN ARRAY ARRAY['text COLLATE regress_loose', 'varchar(9) COLLATE regress_loose', 'char(9) COLLATE regress_loose',
    'regress_varchar', 'regress_text']
  LOOP
    EXECUTE format('CREATE TABLE regress_pay (tenant_id %s NOT NULL, idempotency_key text NOT NULL, request_hash bytea)', type);
    CREATE UNIQUE INDEX ON regress_pay (tenant_id COLLATE "C", idempotency_key);
    GRANT SELECT, INSERT ON regress_pay TO regress_idem_app;
    PERFORM idem_attach('regress_pay', fixed_operation => 'pay', id_column => NULL);
    PERFORM idem_enable_tenant_isolation('regress_pay');
    ASSERT (SELECT outcome = 'created' FROM idem_insert('regress_pay', 'Shop', 'k', '{}')), type;
    SET LOCAL ROLE regress_idem_app;
    SET LOCAL idem.tenant_id = 'shop';
    ASSERT (SELECT count(*) = 0 FROM regress_pay), type;
    BEGIN
      PERFORM idem_insert('regress_pay', 'Shop', 'k', '{}');
      RAISE 'a key of another tenant was replayed, %', type USING ERRCODE = 'assert_failure';
    EXCEPTION WHEN insufficient_privilege THEN
      NULL;
    END;
    ASSERT (SELECT outcome = 'created' FROM idem_insert('regress_pay', 'shop', 'k', '{}')), type;
    RESET ROLE;
    written := ARRAY(SELECT ctid::text FROM pg_policy WHERE polrelid = 'regress_pay'::regclass ORDER BY polname);
    PERFORM idem_enable_tenant_isolation('regress_pay');
    ASSERT written = ARRAY(SELECT ctid::text FROM pg_policy WHERE polrelid = 'regress_pay'::regclass ORDER BY polname), type;
    DROP TABLE regress_pay;
  END LOOP;
END $$;
ROLLBACK;
DROP COLLATION regress_loose;

-- A database whose default is ICU's: everything that the extension runs works there.
SELECT current_database() AS home \gset
CREATE DATABASE regress_idem_icu TEMPLATE template0 ENCODING 'UTF8' LOCALE_PROVIDER icu ICU_LOCALE 'en' LOCALE 'C';
\connect regress_idem_icu
SET client_min_messages = warning;
CREATE EXTENSION idem;
CREATE ROLE regress_idem_app;
DO $$
BEGIN
  PERFORM idem_create_ledger();
  PERFORM idem_grant('regress_idem_app');
  ASSERT (SELECT array_agg(f.outcome::text ORDER BY k COLLATE "C") = '{created,created,created}'
          FROM unnest(ARRAY['a', 'A', 'ä']) k, LATERAL idem_create_transaction('t', k, 1, 'EUR', order_ref => k) f);
  ASSERT (SELECT outcome = 'replayed' FROM idem_create_transaction('t', 'A', 1, 'EUR', order_ref => 'A'));
  ASSERT (SELECT outcome = 'order_taken' FROM idem_try_create_transaction('t', 'b', 1, 'EUR', order_ref => 'a'));
  ASSERT idem_canonical('{"ä": 1, "a": 2, "Z": 3}') = '{"Z":3,"a":2,"ä":1}';
END $$;
\connect :home
DROP DATABASE regress_idem_icu;
DROP ROLE regress_idem_app;
\endif
