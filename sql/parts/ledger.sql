-- The ledger, and who may use it

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
      AND p.proname IN ('idem_create_transaction', 'idem_try_create_transaction', 'idem_create_transactions',
        '_idem_batch_rows', 'idem_insert', 'idem_try_insert', 'idem_canonical', 'idem_fingerprint', 'idem_version',
        'idem_write_path')
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

