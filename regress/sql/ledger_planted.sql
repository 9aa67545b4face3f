-- Objects that another role made where the extension will live are never adopted; a ledger that another role
-- slipped in is not written to.
\set VERBOSITY sqlstate
\set SHOW_CONTEXT never
SET client_min_messages = warning;
DROP ROLE IF EXISTS regress_idem_mallory;
CREATE ROLE regress_idem_mallory;

-- H62: what CREATE EXTENSION says, as superuser, after mallory has made this in the schema.
CREATE FUNCTION pg_temp.planted(plant text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  DROP EXTENSION idem;
  DROP TABLE idem_transactions;
  GRANT CREATE ON SCHEMA public TO regress_idem_mallory;
  SET LOCAL ROLE regress_idem_mallory;
  EXECUTE plant;
  RESET ROLE;
  BEGIN
    CREATE EXTENSION idem SCHEMA public;
  EXCEPTION WHEN OTHERS THEN
    RAISE 'undo' USING HINT = SQLSTATE;
  END;
  RAISE 'undo' USING HINT = 'installed';
EXCEPTION WHEN raise_exception THEN
  GET STACKED DIAGNOSTICS plant = PG_EXCEPTION_HINT;
  RETURN plant;
END $$;
SELECT plant, pg_temp.planted(plant) FROM unnest(ARRAY[
  'CREATE TYPE public.idem_outcome AS ENUM (''created'', ''replayed'')',
  'CREATE DOMAIN public.idem_outcome AS text',
  'CREATE FUNCTION public.idem_create_transaction(text, text, bigint, text, jsonb, text, text) RETURNS int LANGUAGE sql RETURN 1',
  'CREATE FUNCTION public.idem_try_create_transaction(text, text, bigint, text, jsonb, text, text) RETURNS int LANGUAGE sql RETURN 1',
  'CREATE FUNCTION public.idem_canonical(jsonb) RETURNS text LANGUAGE sql RETURN ''''',
  'CREATE FUNCTION public.idem_fingerprint(bigint, text, jsonb, text, text) RETURNS bytea LANGUAGE sql RETURN ''''::bytea',
  'CREATE FUNCTION public.idem_version() RETURNS text LANGUAGE sql RETURN ''''',
  'CREATE FUNCTION public._idem_check_ledger() RETURNS int LANGUAGE sql RETURN 1',
  'CREATE FUNCTION public.idem_create_ledger() RETURNS regclass LANGUAGE sql RETURN 0::regclass',
  'CREATE FUNCTION public.idem_grant(text) RETURNS int LANGUAGE sql RETURN 1',
  'CREATE TABLE public.idem_transactions (id int)',
  'CREATE VIEW public.idem_transactions AS SELECT 1 AS id',
  'CREATE SEQUENCE public.idem_transactions',
  'CREATE TABLE public.idem_transactions (tenant_id text COLLATE "C" NOT NULL, id uuid NOT NULL, operation text COLLATE "C" NOT NULL,
    idempotency_key text COLLATE "C" NOT NULL, request_hash bytea NOT NULL, hash_version smallint NOT NULL, amount_minor bigint NOT NULL,
    currency text COLLATE "C" NOT NULL, order_ref text COLLATE "C", details jsonb NOT NULL, created_at timestamptz NOT NULL,
    UNIQUE (tenant_id, operation, idempotency_key), UNIQUE (tenant_id, operation, order_ref))',
  'CREATE TABLE public.idem_unrelated (id int)']) WITH ORDINALITY AS u(plant, n) ORDER BY n;
DROP FUNCTION pg_temp.planted;
SELECT outcome FROM idem_create_transaction('t', 'k', 1, 'EUR');
DELETE FROM idem_transactions;

-- The refusal in words; idem_create_ledger() adopts no table of another role either.
BEGIN;
ALTER TABLE idem_transactions OWNER TO regress_idem_mallory;
\set ON_ERROR_ROLLBACK on
\set VERBOSITY default
SELECT idem_create_ledger();
SELECT idem_create_transaction('t', 'k', 1, 'EUR');
\set VERBOSITY sqlstate
DROP EXTENSION idem;
CREATE EXTENSION idem;
\set ON_ERROR_ROLLBACK off
ROLLBACK;

-- At call time: a ledger that was dropped and made anew by a role that may create in the schema.
CREATE TABLE loot (key text);
BEGIN;
SELECT outcome FROM idem_create_transaction('t', 'k', 1, 'EUR');
GRANT CREATE ON SCHEMA public TO regress_idem_mallory;
ALTER TABLE idem_transactions RENAME TO real_transactions;
GRANT SELECT ON real_transactions TO regress_idem_mallory;
SET LOCAL ROLE regress_idem_mallory;
CREATE TABLE public.idem_transactions (LIKE real_transactions INCLUDING ALL);
CREATE FUNCTION public.regress_loot() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO loot VALUES (NEW.idempotency_key);
  RETURN NEW;
END $$;
CREATE TRIGGER loot BEFORE INSERT ON public.idem_transactions FOR EACH ROW EXECUTE FUNCTION public.regress_loot();
GRANT ALL ON public.idem_transactions TO PUBLIC;
RESET ROLE;
\set ON_ERROR_ROLLBACK on
SELECT idem_create_transaction('t', 'k', 1, 'EUR');
SELECT idem_create_transaction('t', 'k2', 1, 'EUR');
SELECT idem_try_create_transaction('t', 'k2', 1, 'EUR');
SELECT idem_create_ledger();
SELECT idem_grant(current_user);
\set VERBOSITY default
SELECT idem_create_transaction('t', 'k', 1, 'EUR');
\set VERBOSITY sqlstate
SELECT count(*) FROM loot;
SELECT count(*) FROM public.idem_transactions;
-- Back in place, the true one serves again.
DROP TABLE public.idem_transactions;
ALTER TABLE real_transactions RENAME TO idem_transactions;
SELECT outcome FROM idem_create_transaction('t', 'k', 1, 'EUR');
\set ON_ERROR_ROLLBACK off
ROLLBACK;
DROP TABLE loot;

-- The owner of the schema may own the ledger: whoever owns the schema could replace the functions as well.
BEGIN;
DROP EXTENSION idem;
CREATE SCHEMA regress_idem AUTHORIZATION regress_idem_mallory;
CREATE EXTENSION idem SCHEMA regress_idem;
ALTER TABLE regress_idem.idem_transactions OWNER TO regress_idem_mallory;
SELECT outcome FROM regress_idem.idem_create_transaction('t', 'k', 1, 'EUR');
-- It may no longer once the schema is another's, also for a session that knows the ledger.
ALTER SCHEMA regress_idem OWNER TO CURRENT_USER;
SELECT regress_idem.idem_create_transaction('t', 'k', 1, 'EUR');
ROLLBACK;

-- So may a member of the schema's owner, and a superuser, for as long as they are that, also in a session that knows it.
BEGIN;
DROP EXTENSION idem;
CREATE ROLE regress_idem_owner;
CREATE SCHEMA regress_idem AUTHORIZATION regress_idem_owner;
GRANT regress_idem_owner TO regress_idem_mallory;
CREATE EXTENSION idem SCHEMA regress_idem;
ALTER TABLE regress_idem.idem_transactions OWNER TO regress_idem_mallory;
SELECT outcome FROM regress_idem.idem_create_transaction('t', 'k', 1, 'EUR');
\set ON_ERROR_ROLLBACK on
REVOKE regress_idem_owner FROM regress_idem_mallory;
SELECT regress_idem.idem_create_transaction('t', 'k', 1, 'EUR');
SELECT regress_idem.idem_create_transaction('t', 'k2', 1, 'EUR');
GRANT regress_idem_owner TO regress_idem_mallory;
SELECT outcome FROM regress_idem.idem_create_transaction('t', 'k', 1, 'EUR');
REVOKE regress_idem_owner FROM regress_idem_mallory;
ALTER ROLE regress_idem_mallory SUPERUSER;
SELECT outcome FROM regress_idem.idem_create_transaction('t', 'k', 1, 'EUR');
ALTER ROLE regress_idem_mallory NOSUPERUSER;
SELECT regress_idem.idem_create_transaction('t', 'k', 1, 'EUR');
SELECT count(*) FROM regress_idem.idem_transactions;
\set ON_ERROR_ROLLBACK off
ROLLBACK;

-- Functions of another role that have the name of idem_grant and other types take over no call with a literal.
BEGIN;
GRANT CREATE ON SCHEMA public TO regress_idem_mallory;
CREATE ROLE regress_idem_app;
SET LOCAL ROLE regress_idem_mallory;
DO $$
DECLARE
  type text;
BEGIN
  FOREACH type IN ARRAY ARRAY['name', 'varchar', 'char', 'regrole', 'oid', 'text[]', 'json', 'anyelement'] LOOP
    EXECUTE format('CREATE FUNCTION public.idem_grant(%s) RETURNS void LANGUAGE plpgsql AS %L', type, 'BEGIN RAISE ''planted''; END');
  END LOOP;
END $$;
RESET ROLE;
SELECT idem_grant('regress_idem_app');
SELECT has_table_privilege('regress_idem_app', 'idem_transactions', 'SELECT') AS granted;
ROLLBACK;

-- A function of another role in the same schema is not granted along.
BEGIN;
CREATE FUNCTION public.idem_version(int) RETURNS int LANGUAGE sql AS 'SELECT 1';
REVOKE ALL ON FUNCTION public.idem_version(int) FROM PUBLIC;
CREATE ROLE regress_idem_app;
SELECT idem_grant('regress_idem_app');
SELECT has_function_privilege('regress_idem_app', 'public.idem_version(int)', 'EXECUTE');
ROLLBACK;
DROP ROLE regress_idem_mallory;
