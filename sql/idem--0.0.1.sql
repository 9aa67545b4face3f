\echo Use "CREATE EXTENSION idem" to load this file. \quit

-- The target schema comes first in search_path while this script runs. No object of the script is created with
-- OR REPLACE or IF NOT EXISTS, so that none that somebody planted is adopted.

CREATE TYPE idem_outcome AS ENUM ('created', 'replayed', 'conflict', 'order_taken', 'invalid');

COMMENT ON TYPE idem_outcome IS
  'what a call did: created (row inserted now), replayed (the original row), conflict (key used with other parameters), order_taken (order_ref has another transaction), invalid (malformed row of a batch)';

-- The main call

CREATE FUNCTION idem_create_transaction(
  tenant_id text,
  idempotency_key text,
  amount_minor bigint,
  currency text,
  details jsonb DEFAULT '{}',
  operation text DEFAULT 'create-transaction',
  order_ref text DEFAULT NULL,
  OUT transaction_id uuid,
  OUT outcome idem_outcome,
  OUT amount_minor bigint,
  OUT currency text,
  OUT details jsonb,
  OUT order_ref text,
  OUT created_at timestamptz)
RETURNS record
AS 'MODULE_PATHNAME', 'idem_create_transaction'
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE;

COMMENT ON FUNCTION idem_create_transaction(text, text, bigint, text, jsonb, text, text) IS
  'create a transaction once per tenant, operation and idempotency key, or replay the stored one; ID001 for a changed request, ID002 after idem.busy_timeout, ID003 for an order_ref that has another transaction';

CREATE FUNCTION idem_try_create_transaction(
  tenant_id text,
  idempotency_key text,
  amount_minor bigint,
  currency text,
  details jsonb DEFAULT '{}',
  operation text DEFAULT 'create-transaction',
  order_ref text DEFAULT NULL,
  OUT transaction_id uuid,
  OUT outcome idem_outcome,
  OUT amount_minor bigint,
  OUT currency text,
  OUT details jsonb,
  OUT order_ref text,
  OUT created_at timestamptz)
RETURNS record
AS 'MODULE_PATHNAME', 'idem_try_create_transaction'
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE;

COMMENT ON FUNCTION idem_try_create_transaction(text, text, bigint, text, jsonb, text, text) IS
  'like idem_create_transaction, but gives outcome conflict or order_taken, with NULL in all other columns, where that raises ID001 or ID003';

-- The fingerprint

CREATE FUNCTION idem_canonical(document jsonb)
RETURNS text
AS 'MODULE_PATHNAME', 'idem_canonical'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION idem_canonical(jsonb) IS
  'canonical form of a JSON document, version 1: RFC 8785 with exact decimal numbers';

CREATE FUNCTION idem_fingerprint(
  amount_minor bigint,
  currency text,
  details jsonb DEFAULT '{}',
  operation text DEFAULT 'create-transaction',
  order_ref text DEFAULT NULL)
RETURNS bytea
AS 'MODULE_PATHNAME', 'idem_fingerprint'
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE;

COMMENT ON FUNCTION idem_fingerprint(bigint, text, jsonb, text, text) IS
  'fingerprint of a request, version 1: SHA-256 of its canonical form, as stored in request_hash';

-- Administration

CREATE FUNCTION idem_version()
RETURNS text
AS 'MODULE_PATHNAME', 'idem_version'
LANGUAGE C STABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION idem_version() IS 'version of the loaded library; the SQL objects'' version is in pg_extension';

CREATE FUNCTION _idem_check_ledger()
RETURNS void
AS 'MODULE_PATHNAME', 'idem_check_ledger'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

REVOKE ALL ON FUNCTION _idem_check_ledger() FROM PUBLIC;

CREATE FUNCTION idem_create_ledger()
RETURNS regclass
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  home CONSTANT text := (SELECT extnamespace::regnamespace FROM pg_extension WHERE extname = 'idem');
  ledger CONSTANT text := home || '.idem_transactions';
  owner regrole;
BEGIN
  -- One at a time: instances of an application that start together may all call this.
  PERFORM pg_advisory_xact_lock('pg_extension'::regclass::oid::int, (SELECT oid FROM pg_extension WHERE extname = 'idem')::int);
  SELECT relowner INTO owner FROM pg_class WHERE oid = to_regclass(ledger);
  IF FOUND THEN
    IF owner::oid <> (SELECT oid FROM pg_roles WHERE rolname = current_user) THEN
      RAISE EXCEPTION 'table % already exists and belongs to another role', ledger
        USING ERRCODE = 'duplicate_table',
          HINT = 'A ledger is adopted only where the current role owns it. Inspect the table; if it is the right one, give '
            'it to that role with ALTER TABLE ... OWNER TO, else rename it.';
    END IF;
  ELSE
    EXECUTE format($ddl$
      CREATE TABLE %s (
        tenant_id text COLLATE "C" NOT NULL,
        id uuid NOT NULL,
        operation text COLLATE "C" NOT NULL,
        idempotency_key text COLLATE "C" NOT NULL,
        request_hash bytea NOT NULL,
        hash_version smallint NOT NULL,
        amount_minor bigint NOT NULL,
        currency text COLLATE "C" NOT NULL,
        order_ref text COLLATE "C",
        details jsonb NOT NULL DEFAULT '{}',
        created_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT idem_transactions_pkey PRIMARY KEY (tenant_id, id),
        CONSTRAINT idem_transactions_scope_key UNIQUE (tenant_id, operation, idempotency_key))$ddl$, ledger);
    -- Partial: most rows of many users carry no order_ref, and need no entry then.
    EXECUTE format('CREATE UNIQUE INDEX idem_transactions_order_key ON %s (tenant_id, operation, order_ref) '
      'WHERE order_ref IS NOT NULL', ledger);
    EXECUTE format('COMMENT ON TABLE %s IS %L', ledger,
      'ledger of idem: one row per transaction, append-only; belongs to its owner, not to the extension');
  END IF;
  EXECUTE format('SELECT %s._idem_check_ledger()', home);
  RETURN to_regclass(ledger);
END
$$;

REVOKE ALL ON FUNCTION idem_create_ledger() FROM PUBLIC;

COMMENT ON FUNCTION idem_create_ledger() IS
  'create the ledger table idem_transactions, or check the one that the current role owns; gives the table';

-- text, the type that a quoted literal prefers: no planted function with another type can take the call over.
CREATE FUNCTION idem_grant(role text)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  home CONSTANT text := (SELECT extnamespace::regnamespace FROM pg_extension WHERE extname = 'idem');
  callable regprocedure;
BEGIN
  IF role IS NULL THEN
    RAISE EXCEPTION 'role must not be null' USING ERRCODE = 'null_value_not_allowed';
  END IF;
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname::text = role) THEN
    RAISE EXCEPTION 'role "%" does not exist', role USING ERRCODE = 'undefined_object';
  END IF;
  -- Two sessions that change the privileges of one object at once fail.
  PERFORM pg_advisory_xact_lock('pg_extension'::regclass::oid::int, (SELECT oid FROM pg_extension WHERE extname = 'idem')::int);
  EXECUTE format('SELECT %s._idem_check_ledger()', home);
  EXECUTE format('GRANT USAGE ON SCHEMA %s TO %I', home, role);
  EXECUTE format('GRANT SELECT, INSERT ON TABLE %s.idem_transactions TO %I', home, role);
  FOR callable IN
    SELECT p.oid
    FROM pg_extension e
    JOIN pg_depend d ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND d.deptype = 'e'
    JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
    WHERE e.extname = 'idem'
      AND p.proname IN ('idem_create_transaction', 'idem_try_create_transaction', 'idem_canonical', 'idem_fingerprint',
        'idem_version')
  LOOP
    EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %I', callable, role);
  END LOOP;
  -- GRANT only warns where the current role may not grant.
  IF NOT has_table_privilege(role::name, home || '.idem_transactions', 'SELECT')
    OR NOT has_table_privilege(role::name, home || '.idem_transactions', 'INSERT')
  THEN
    RAISE EXCEPTION 'permission denied to grant privileges on the ledger' USING ERRCODE = 'insufficient_privilege';
  END IF;
END
$$;

REVOKE ALL ON FUNCTION idem_grant(text) FROM PUBLIC;

COMMENT ON FUNCTION idem_grant(text) IS
  'give a role what an application needs: USAGE of the schema, SELECT and INSERT on the ledger, EXECUTE of the calls; never UPDATE, DELETE or TRUNCATE';

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
