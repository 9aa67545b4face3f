\echo Use "ALTER EXTENSION idem UPDATE" to load this file. \quit

-- An update never touches the ledger.

-- The main call

CREATE OR REPLACE FUNCTION idem_create_transaction(
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

CREATE OR REPLACE FUNCTION idem_try_create_transaction(
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

CREATE OR REPLACE FUNCTION idem_canonical(document jsonb)
RETURNS text
AS 'MODULE_PATHNAME', 'idem_canonical'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION idem_canonical(jsonb) IS
  'canonical form of a JSON document, version 1: RFC 8785 with exact decimal numbers';

CREATE OR REPLACE FUNCTION idem_fingerprint(
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

CREATE OR REPLACE FUNCTION idem_version()
RETURNS text
AS 'MODULE_PATHNAME', 'idem_version'
LANGUAGE C STABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION idem_version() IS 'version of the loaded library; the SQL objects'' version is in pg_extension';

-- The ledger, and who may use it

CREATE OR REPLACE FUNCTION _idem_check_ledger()
RETURNS void
AS 'MODULE_PATHNAME', 'idem_check_ledger'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

REVOKE ALL ON FUNCTION _idem_check_ledger() FROM PUBLIC;

CREATE OR REPLACE FUNCTION idem_create_ledger()
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
CREATE OR REPLACE FUNCTION idem_grant(role text)
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

-- Many requests in one call

CREATE FUNCTION idem_create_transactions(
  tenant_ids text[],
  idempotency_keys text[],
  amounts_minor bigint[],
  currencies text[],
  details jsonb[] DEFAULT NULL,
  operations text[] DEFAULT NULL,
  order_refs text[] DEFAULT NULL,
  mode text DEFAULT 'each',
  OUT ord integer,
  OUT outcome idem_outcome,
  OUT transaction_id uuid,
  OUT sqlstate text,
  OUT created_at timestamptz)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'idem_create_transactions'
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE;

COMMENT ON FUNCTION idem_create_transactions(text[], text[], bigint[], text[], jsonb[], text[], text[], text) IS
  'like idem_create_transaction for up to 100000 requests, in one statement and one order of locks; one row per request in their order; mode each reports conflict, order_taken and invalid per request, mode all raises the first one';

-- The rows that a batch inserts or looks for, for its own statements. Everybody may call it, since batches run with the
-- rights of their caller; outside of a batch it gives nothing but an error.
CREATE FUNCTION _idem_batch_rows(
  OUT place integer,
  OUT tenant_id text,
  OUT id uuid,
  OUT operation text,
  OUT idempotency_key text,
  OUT request_hash bytea,
  OUT hash_version smallint,
  OUT amount_minor bigint,
  OUT currency text,
  OUT order_ref text,
  OUT details jsonb,
  OUT created_at timestamptz)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'idem_batch_rows'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
-- How calls write

CREATE FUNCTION idem_write_path(
  target regclass DEFAULT NULL,
  OUT path text,
  OUT reason text)
RETURNS record
AS 'MODULE_PATHNAME', 'idem_write_path'
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE;

COMMENT ON FUNCTION idem_write_path(regclass) IS
  'whether a call by this role in this session would write to the ledger direct or by a statement, and then why; attached tables are always written to by a statement';
-- Tables of the users' own, and the registry that says what their columns mean

CREATE TABLE idem_tables (
  target oid PRIMARY KEY,
  target_name text COLLATE "C" NOT NULL,
  tenant_column name NOT NULL,
  operation_column name,
  fixed_operation text COLLATE "C",
  key_column name NOT NULL,
  hash_column name NOT NULL,
  id_column name,
  exclude text[] COLLATE "C" NOT NULL,
  tenant_number smallint NOT NULL,
  operation_number smallint NOT NULL,
  key_number smallint NOT NULL,
  hash_number smallint NOT NULL,
  id_number smallint NOT NULL,
  CHECK ((operation_column IS NULL) <> (fixed_operation IS NULL)));

COMMENT ON TABLE idem_tables IS
  'registry of attached tables: which columns hold tenant, operation, key, fingerprint and id; written by idem_attach and idem_detach';
COMMENT ON COLUMN idem_tables.target IS 'the table';
COMMENT ON COLUMN idem_tables.target_name IS 'its qualified name, by which a restored dump finds it';
COMMENT ON COLUMN idem_tables.fixed_operation IS 'operation of all rows, where no column holds it';
COMMENT ON COLUMN idem_tables.exclude IS 'paths in a row that do not enter its fingerprint';
COMMENT ON COLUMN idem_tables.tenant_number IS
  'attnum of tenant_column; the numbers lead, the names follow what the columns are renamed to; 0 where there is none';

GRANT SELECT ON idem_tables TO PUBLIC;

SELECT pg_catalog.pg_extension_config_dump('idem_tables', '');

-- A row that comes out of a dump finds its table and columns by name. It never fails: a table may be left out of a
-- restore, and a column may be missing; calls and the audit tell of that. Names of what can never have been attached, as
-- of catalogs, are those of a stranger's dump.
CREATE FUNCTION _idem_resolve_table()
RETURNS trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  found CONSTANT oid := (
    SELECT oid FROM pg_class
    WHERE oid = to_regclass(NEW.target_name) AND relkind IN ('r', 'p') AND relpersistence <> 't'
      AND relnamespace <> 'pg_catalog'::regnamespace);
  numbers CONSTANT jsonb := (
    SELECT coalesce(jsonb_object_agg(attname, attnum), '{}') FROM pg_attribute
    WHERE attrelid = found AND attnum > 0 AND NOT attisdropped);
BEGIN
  IF found IS NULL THEN
    RAISE WARNING 'table % does not exist and is not attached', NEW.target_name;
    RETURN NULL;
  END IF;
  NEW.target := found;
  NEW.tenant_number := coalesce((numbers ->> NEW.tenant_column::text)::smallint, 0);
  NEW.operation_number := coalesce((numbers ->> NEW.operation_column::text)::smallint, 0);
  NEW.key_number := coalesce((numbers ->> NEW.key_column::text)::smallint, 0);
  NEW.hash_number := coalesce((numbers ->> NEW.hash_column::text)::smallint, 0);
  NEW.id_number := coalesce((numbers ->> NEW.id_column::text)::smallint, 0);
  -- Where data alone is restored, the table may be attached already; a restore brings the settings of the dump.
  EXECUTE format('DELETE FROM %s WHERE target = $1', TG_RELID::regclass) USING found;
  RETURN NEW;
END
$$;

-- Sessions that know the table look at the registry again.
CREATE FUNCTION _idem_forget_table()
RETURNS trigger
AS 'MODULE_PATHNAME', 'idem_forget_table'
LANGUAGE C VOLATILE PARALLEL UNSAFE;

CREATE TRIGGER resolve BEFORE INSERT ON idem_tables FOR EACH ROW EXECUTE FUNCTION _idem_resolve_table();
CREATE TRIGGER forget AFTER INSERT OR UPDATE OR DELETE ON idem_tables FOR EACH ROW EXECUTE FUNCTION _idem_forget_table();
ALTER TABLE idem_tables ENABLE ALWAYS TRIGGER resolve;
ALTER TABLE idem_tables ENABLE ALWAYS TRIGGER forget;

-- Follow renamed tables, columns and schemas: a dump carries names. Keep the registry's own triggers on, too.
CREATE FUNCTION _idem_follow_renames()
RETURNS event_trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  home CONSTANT text := (SELECT extnamespace::regnamespace FROM pg_extension WHERE extname = 'idem');
BEGIN
  IF home IS NULL THEN
    RETURN;
  END IF;
  -- pg_restore --disable-triggers switches off what finds the tables of a dump, and leaves it half switched on.
  IF EXISTS (
    SELECT FROM pg_trigger
    WHERE tgrelid = to_regclass(home || '.idem_tables') AND tgname IN ('resolve', 'forget') AND tgenabled <> 'A')
  THEN
    EXECUTE format('ALTER TABLE %s.idem_tables ENABLE ALWAYS TRIGGER resolve, ENABLE ALWAYS TRIGGER forget', home);
  END IF;
  EXECUTE format($sql$
    UPDATE %s.idem_tables AS t
    SET target_name = n.target_name,
        tenant_column = coalesce(n.names[1], t.tenant_column),
        operation_column = coalesce(n.names[2], t.operation_column),
        key_column = coalesce(n.names[3], t.key_column),
        hash_column = coalesce(n.names[4], t.hash_column),
        id_column = coalesce(n.names[5], t.id_column)
    FROM (
      SELECT r.target, c.oid::regclass::text AS target_name, ARRAY(
          SELECT a.attname
          FROM unnest(ARRAY[r.tenant_number, r.operation_number, r.key_number, r.hash_number, r.id_number])
            WITH ORDINALITY AS u (number, place)
          LEFT JOIN pg_attribute AS a ON a.attrelid = r.target AND a.attnum = u.number AND a.attnum > 0
            AND NOT a.attisdropped
          ORDER BY place) AS names
      FROM %1$s.idem_tables AS r
      JOIN pg_class AS c ON c.oid = r.target) AS n
    WHERE n.target = t.target
      AND (t.target_name <> n.target_name
        OR t.tenant_column <> n.names[1]
        OR t.operation_column <> n.names[2]
        OR t.key_column <> n.names[3]
        OR t.hash_column <> n.names[4]
        OR t.id_column <> n.names[5])$sql$, home);
END
$$;

-- The registry forgets a table that is dropped.
CREATE FUNCTION _idem_follow_drops()
RETURNS event_trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  home CONSTANT text := (SELECT extnamespace::regnamespace FROM pg_extension WHERE extname = 'idem');
BEGIN
  IF home IS NULL THEN
    RETURN;
  END IF;
  EXECUTE format('DELETE FROM %s.idem_tables WHERE target IN (SELECT objid FROM pg_event_trigger_dropped_objects() '
    'WHERE classid = ''pg_class''::regclass AND objsubid = 0)', home);
END
$$;

CREATE EVENT TRIGGER idem_follow_renames ON ddl_command_end
  WHEN TAG IN ('ALTER TABLE', 'ALTER INDEX', 'ALTER TYPE', 'ALTER SCHEMA', 'ALTER EXTENSION')
  EXECUTE FUNCTION _idem_follow_renames();
CREATE EVENT TRIGGER idem_follow_drops ON sql_drop EXECUTE FUNCTION _idem_follow_drops();
ALTER EVENT TRIGGER idem_follow_renames ENABLE ALWAYS;
ALTER EVENT TRIGGER idem_follow_drops ENABLE ALWAYS;

COMMENT ON EVENT TRIGGER idem_follow_renames IS 'keeps the names in idem_tables as they are';
COMMENT ON EVENT TRIGGER idem_follow_drops IS 'removes dropped tables from idem_tables';

CREATE FUNCTION idem_attach(
  target regclass,
  tenant_column name DEFAULT 'tenant_id',
  operation_column name DEFAULT 'operation',
  key_column name DEFAULT 'idempotency_key',
  hash_column name DEFAULT 'request_hash',
  id_column name DEFAULT 'id',
  fixed_operation text DEFAULT NULL,
  exclude text[] DEFAULT '{}')
RETURNS void
AS 'MODULE_PATHNAME', 'idem_attach'
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE;

-- What is attached is read by audits, which superusers run, and walled off by idem_enable_tenant_isolation().
REVOKE ALL ON FUNCTION idem_attach(regclass, name, name, name, name, name, text, text[]) FROM PUBLIC;

COMMENT ON FUNCTION idem_attach(regclass, name, name, name, name, name, text, text[]) IS
  'let idem_insert write into a table of yours, whose scope columns a unique index must protect; again: change the settings';

CREATE FUNCTION idem_detach(target regclass)
RETURNS void
AS 'MODULE_PATHNAME', 'idem_detach'
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE;

COMMENT ON FUNCTION idem_detach(regclass) IS 'undo idem_attach; the table and its rows stay as they are';

CREATE FUNCTION idem_insert(
  target regclass,
  tenant_id text,
  idempotency_key text,
  "row" jsonb,
  operation text DEFAULT NULL,
  OUT outcome idem_outcome,
  OUT "row" jsonb)
RETURNS record
AS 'MODULE_PATHNAME', 'idem_insert'
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE;

COMMENT ON FUNCTION idem_insert(regclass, text, text, jsonb, text) IS
  'insert a row into an attached table once per tenant, operation and idempotency key, or replay the stored one; ID001 for a changed row, ID002 after idem.busy_timeout';

CREATE FUNCTION idem_try_insert(
  target regclass,
  tenant_id text,
  idempotency_key text,
  "row" jsonb,
  operation text DEFAULT NULL,
  OUT outcome idem_outcome,
  OUT "row" jsonb)
RETURNS record
AS 'MODULE_PATHNAME', 'idem_try_insert'
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE;

COMMENT ON FUNCTION idem_try_insert(regclass, text, text, jsonb, text) IS
  'like idem_insert, but gives outcome conflict, with a NULL row, where that raises ID001';

-- What keeps an index from protecting the columns with these numbers; NULL where it does.
CREATE FUNCTION _idem_key_problem(index regclass, columns smallint[])
RETURNS text
AS 'MODULE_PATHNAME', 'idem_key_problem'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
-- A wall between tenants: row security on the setting idem.tenant_id

-- The ledger and the attached tables, or the one of them that is asked for, each with the column of its tenants and the
-- condition on a row, as pg_get_expr prints it. Partitions are there too: where a statement names one, only its own
-- policies count.
CREATE FUNCTION _idem_tenant_tables(target regclass)
RETURNS TABLE (relation regclass, tenant_column name, condition text)
LANGUAGE plpgsql STABLE CALLED ON NULL INPUT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  home CONSTANT text := (SELECT extnamespace::regnamespace FROM pg_extension WHERE extname = 'idem');
  -- Without a tenant it is NULL, and no row satisfies the condition.
  tenant CONSTANT text := $sql$NULLIF(current_setting('idem.tenant_id'::text, true), ''::text)$sql$;
  own_type oid;
  type oid;
  left_side text;
BEGIN
  FOR relation, tenant_column IN EXECUTE format($sql$
    WITH RECURSIVE tree AS (
      SELECT root.relation, root.tenant_column
      FROM (
        SELECT to_regclass(%L), name 'tenant_id'
        UNION ALL
        SELECT t.target::regclass, a.attname
        FROM %s.idem_tables AS t
        LEFT JOIN pg_attribute AS a ON a.attrelid = t.target AND a.attnum = t.tenant_number AND NOT a.attisdropped
      ) AS root (relation, tenant_column)
      WHERE root.relation = coalesce($1, root.relation)
      UNION
      SELECT i.inhrelid, tree.tenant_column FROM tree JOIN pg_inherits AS i ON i.inhparent = tree.relation)
    SELECT tree.relation, tree.tenant_column
    FROM tree JOIN pg_class AS c ON c.oid = tree.relation
    WHERE c.relkind IN ('r', 'p')
    ORDER BY c.oid$sql$, home || '.idem_transactions', home) USING target
  LOOP
    IF tenant_column IS NULL THEN
      condition := NULL;
      RETURN NEXT;
      CONTINUE;
    END IF;
    -- The base type, and without a length or precision, which a cast would cut the setting to.
    own_type := (SELECT a.atttypid FROM pg_attribute AS a WHERE a.attrelid = relation AND a.attname = tenant_column);
    type := own_type;
    WHILE EXISTS (SELECT FROM pg_type AS t WHERE t.oid = type AND t.typtype = 'd') LOOP
      type := (SELECT t.typbasetype FROM pg_type AS t WHERE t.oid = type);
    END LOOP;
    IF type = 'varchar'::regtype THEN
      type := 'text'::regtype;
    END IF;
    left_side := CASE WHEN own_type = type THEN format('%I', tenant_column)
      ELSE format('(%I)::%s', tenant_column, format_type(type, -1)) END;
    -- To a nondeterministic collation different tenants are equal; the index that protects the table tells them apart.
    IF EXISTS (
      SELECT FROM pg_attribute AS a JOIN pg_collation AS l ON l.oid = a.attcollation
      WHERE a.attrelid = relation AND a.attname = tenant_column AND NOT l.collisdeterministic)
    THEN
      left_side := format('(%s COLLATE "C")', left_side);
    END IF;
    condition := format(CASE WHEN type = 'text'::regtype THEN '(%s = %s)' ELSE '(%s = (%s)::%s)' END,
      left_side, tenant, format_type(type, -1));
    RETURN NEXT;
  END LOOP;
END
$$;

CREATE FUNCTION idem_enable_tenant_isolation(target regclass DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  home CONSTANT text := (SELECT extnamespace::regnamespace FROM pg_extension WHERE extname = 'idem');
  item record;
  policy record;
  other name;
BEGIN
  -- Two sessions that change the policies of one table at once fail.
  PERFORM pg_advisory_xact_lock('pg_extension'::regclass::oid::int, (SELECT oid FROM pg_extension WHERE extname = 'idem')::int);
  FOR item IN EXECUTE format('SELECT t.*, c.relowner, c.relrowsecurity, c.relforcerowsecurity '
    'FROM %s._idem_tenant_tables($1) AS t JOIN pg_class AS c ON c.oid = t.relation', home) USING target
  LOOP
    IF NOT pg_has_role(item.relowner, 'USAGE') THEN
      RAISE EXCEPTION 'must be owner of table %', item.relation USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF item.tenant_column IS NULL THEN
      RAISE EXCEPTION 'table % has lost the column of its tenants', item.relation
        USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Attach the table again, or detach it.';
    END IF;
    -- What is right is left alone: every change locks the table against all calls. The restrictive policy is the wall:
    -- what further policies permit is permitted inside of it only. Nothing is permitted without a permissive policy;
    -- that has the same condition, so that one of the two suffices.
    FOR policy IN SELECT * FROM (VALUES ('idem_tenant', true), ('idem_tenant_wall', false)) AS v (name, permissive) LOOP
      IF NOT EXISTS (
        SELECT FROM pg_policy
        WHERE polrelid = item.relation AND polname = policy.name AND polpermissive = policy.permissive AND polcmd = '*'
          AND polroles = '{0}' AND polwithcheck IS NULL AND pg_get_expr(polqual, polrelid) = item.condition)
      THEN
        IF EXISTS (SELECT FROM pg_policy WHERE polrelid = item.relation AND polname = policy.name) THEN
          EXECUTE format('DROP POLICY %I ON %s', policy.name, item.relation);
        END IF;
        EXECUTE format('CREATE POLICY %I ON %s AS %s USING %s', policy.name, item.relation,
          CASE WHEN policy.permissive THEN 'PERMISSIVE' ELSE 'RESTRICTIVE' END, item.condition);
      END IF;
    END LOOP;
    IF NOT item.relrowsecurity THEN
      EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', item.relation);
    END IF;
    IF NOT item.relforcerowsecurity THEN
      EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', item.relation);
    END IF;
    FOR other IN
      SELECT polname FROM pg_policy
      WHERE polrelid = item.relation AND polpermissive AND polname <> 'idem_tenant' ORDER BY polname
    LOOP
      RAISE NOTICE 'policy "%" of table % no longer narrows what a tenant may do', other, item.relation
        USING HINT = 'Permissive policies are joined with OR, and idem_tenant is one. Make yours RESTRICTIVE.';
    END LOOP;
    FOR other IN
      SELECT c.relname
      FROM pg_index AS i
      JOIN pg_class AS c ON c.oid = i.indexrelid
      JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attname = item.tenant_column
      WHERE i.indrelid = item.relation AND (i.indisunique OR i.indisexclusion) AND NOT c.relispartition
        AND a.attnum <> ALL ((i.indkey::int2[])[0:i.indnkeyatts - 1])
      ORDER BY c.relname
    LOOP
      RAISE NOTICE 'unique index "%" of table % does not contain column %', other, item.relation, item.tenant_column
        USING DETAIL = 'A clash on it can tell a tenant that another tenant has such a row.';
    END LOOP;
  END LOOP;
  IF NOT FOUND AND target IS NULL THEN
    RAISE EXCEPTION 'there is no ledger and no attached table' USING ERRCODE = 'object_not_in_prerequisite_state';
  ELSIF NOT FOUND THEN
    RAISE EXCEPTION 'table % is neither the ledger nor attached', target
      USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Attach it with idem_attach().';
  END IF;
END
$$;

COMMENT ON FUNCTION idem_enable_tenant_isolation(regclass) IS
  'let roles see and make rows of the tenant in idem.tenant_id only, in the ledger and all attached tables, or in one of them; again: cover tables and partitions that are new';

CREATE FUNCTION idem_disable_tenant_isolation(target regclass DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  item record;
  policy name;
BEGIN
  PERFORM pg_advisory_xact_lock('pg_extension'::regclass::oid::int, (SELECT oid FROM pg_extension WHERE extname = 'idem')::int);
  -- Detached tables have their policies still. Policies of others that only have such a name are left alone.
  FOR item IN
    WITH RECURSIVE tree AS (
      SELECT target::oid AS relation
      UNION
      SELECT i.inhrelid FROM tree JOIN pg_inherits AS i ON i.inhparent = tree.relation)
    SELECT c.oid::regclass AS relation, c.relowner, array_agg(p.polname) AS policies
    FROM pg_policy AS p
    JOIN pg_class AS c ON c.oid = p.polrelid
    WHERE p.polname IN ('idem_tenant', 'idem_tenant_wall')
      AND strpos(pg_get_expr(p.polqual, p.polrelid), '''idem.tenant_id''') > 0
      AND (target IS NULL OR c.oid IN (SELECT tree.relation FROM tree))
    GROUP BY c.oid
    ORDER BY c.oid
  LOOP
    IF NOT pg_has_role(item.relowner, 'USAGE') THEN
      RAISE EXCEPTION 'must be owner of table %', item.relation USING ERRCODE = 'insufficient_privilege';
    END IF;
    FOREACH policy IN ARRAY item.policies LOOP
      EXECUTE format('DROP POLICY %I ON %s', policy, item.relation);
    END LOOP;
    IF NOT EXISTS (SELECT FROM pg_policy WHERE polrelid = item.relation) THEN
      EXECUTE format('ALTER TABLE %s NO FORCE ROW LEVEL SECURITY', item.relation);
      EXECUTE format('ALTER TABLE %s DISABLE ROW LEVEL SECURITY', item.relation);
    END IF;
  END LOOP;
END
$$;

COMMENT ON FUNCTION idem_disable_tenant_isolation(regclass) IS
  'undo idem_enable_tenant_isolation, for all tables or for one; row security stays on where a table has further policies';
-- Rows that share a key: in tables that want a unique constraint, and behind indexes that are not trusted
--
-- All of this runs with the rights of the caller. The internal functions stay executable by everybody, so that a role
-- needs a grant on the public ones only.

-- Raise unless the target is a table whose rows the caller may read.
CREATE FUNCTION _idem_check_readable(target regclass)
RETURNS void
LANGUAGE plpgsql STABLE CALLED ON NULL INPUT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  kind "char";
  schema oid;
BEGIN
  IF target IS NULL THEN
    RAISE EXCEPTION 'target must not be null' USING ERRCODE = 'null_value_not_allowed';
  END IF;
  SELECT relkind, relnamespace INTO kind, schema FROM pg_class WHERE oid = target;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'target does not exist' USING ERRCODE = 'undefined_table';
  END IF;
  IF pg_is_other_temp_schema(schema) THEN
    RAISE EXCEPTION '"%" is a temporary table of another session', target USING ERRCODE = 'feature_not_supported';
  END IF;
  IF kind NOT IN ('r', 'p') THEN
    RAISE EXCEPTION '"%" is not a table', target USING ERRCODE = 'wrong_object_type', DETAIL = CASE kind
      WHEN 'v' THEN 'It is a view.'
      WHEN 'm' THEN 'It is a materialized view.'
      WHEN 'f' THEN 'It is a foreign table.'
      WHEN 'S' THEN 'It is a sequence.'
      WHEN 'c' THEN 'It is a composite type.'
      WHEN 't' THEN 'It is a TOAST table.'
      ELSE 'It is an index.' END;
  END IF;
  IF schema::regnamespace IN ('pg_catalog', 'information_schema') THEN
    RAISE EXCEPTION 'permission denied: "%" is a system catalog', target USING ERRCODE = 'insufficient_privilege';
  END IF;
  IF NOT has_table_privilege(target, 'SELECT') THEN
    RAISE EXCEPTION 'permission denied for table %', target USING ERRCODE = 'insufficient_privilege';
  END IF;
END
$$;

-- Functions that a look at the table's rows may run, with the rights of whoever looks, and that belong neither to the
-- caller nor to a superuser; NULL where there are none. The planner runs those without arguments in the predicates and
-- expressions of indexes, in statistics and in partition keys; policies run theirs.
CREATE FUNCTION _idem_foreign_code(target regclass)
RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
  WITH part (oid) AS (
    SELECT target::oid
    UNION
    SELECT relid::oid FROM pg_partition_tree(target)),
  holder (class, oid) AS (
    SELECT 'pg_class'::regclass, p.oid FROM part AS p
    UNION ALL
    SELECT 'pg_class'::regclass, i.indexrelid FROM part AS p JOIN pg_index AS i ON i.indrelid = p.oid
    UNION ALL
    SELECT 'pg_statistic_ext'::regclass, s.oid FROM part AS p JOIN pg_statistic_ext AS s ON s.stxrelid = p.oid
    UNION ALL
    SELECT 'pg_policy'::regclass, l.oid FROM part AS p JOIN pg_policy AS l ON l.polrelid = p.oid
    WHERE row_security_active(p.oid)),
  code (oid) AS (
    SELECT CASE d.refclassid WHEN 'pg_operator'::regclass THEN o.oprcode::oid ELSE d.refobjid END
    FROM holder AS h
    JOIN pg_depend AS d ON d.classid = h.class AND d.objid = h.oid
    LEFT JOIN pg_operator AS o ON o.oid = d.refobjid
    WHERE d.refclassid IN ('pg_proc'::regclass, 'pg_operator'::regclass))
  SELECT string_agg(p.oid::regprocedure::text, ', ' ORDER BY p.oid::regprocedure::text COLLATE "C")
  FROM pg_proc AS p
  JOIN pg_roles AS r ON r.oid = p.proowner
  WHERE p.oid IN (SELECT code.oid FROM code) AND NOT r.rolsuper AND r.rolname <> current_user
$$;

-- SQL for each of the columns, in their order: its value in a scan, and templates that make jsonb of a value and
-- something to order values by. Strings compare byte for byte. A type's casts are not used, because its owner could make
-- one that runs code.
CREATE FUNCTION _idem_column_sql(target regclass, columns name[])
RETURNS TABLE (place bigint, value_sql text, json_sql text, order_sql text, nullable boolean)
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
  WITH RECURSIVE base (place, type, is_domain) AS (
    SELECT u.place, a.atttypid, true
    FROM unnest(columns) WITH ORDINALITY AS u (name, place)
    JOIN pg_attribute AS a ON a.attrelid = target AND a.attname = u.name AND a.attnum > 0 AND NOT a.attisdropped
    UNION ALL
    SELECT b.place, CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE t.oid END, t.typtype = 'd'
    FROM base AS b
    JOIN pg_type AS t ON t.oid = b.type
    WHERE b.is_domain)
  SELECT b.place,
    format('%I', a.attname) || CASE WHEN a.attcollation <> 0 THEN ' COLLATE pg_catalog."C"' ELSE '' END,
    CASE WHEN b.type < 16384 THEN 'to_jsonb(%s)' ELSE 'to_jsonb(format(''%%s'', %s))' END,
    -- Not all types have an order, as json and point have none.
    CASE WHEN EXISTS (
        SELECT FROM pg_opclass AS o JOIN pg_am AS m ON m.oid = o.opcmethod
        WHERE m.amname = 'btree' AND o.opcdefault AND o.opcintype = b.type)
      THEN '%s' ELSE 'format(''%%s'', %s)' END,
    NOT a.attnotnull
  FROM base AS b
  JOIN pg_attribute AS a ON a.attrelid = target AND a.attname = columns[b.place]
  WHERE NOT b.is_domain
  ORDER BY b.place
$$;

-- How many rows the planner expects, in words that tell of progress.
CREATE FUNCTION _idem_expected_rows(target regclass)
RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT CASE WHEN min(c.reltuples) >= 0 THEN format('about %s rows', sum(c.reltuples)::bigint)
    ELSE 'number of rows not known' END
  FROM pg_class AS c
  WHERE c.oid = target AND c.relkind = 'r'
    OR c.oid IN (SELECT relid FROM pg_partition_tree(target) WHERE isleaf)
$$;

-- Count the rows of a table and, of these, those under each condition. Reads ranges of blocks where it can, so that
-- progress is told in between.
CREATE FUNCTION _idem_count_rows(target regclass, conditions text[], step text)
RETURNS bigint[]
LANGUAGE plpgsql STABLE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET enable_tidscan = on
SET enable_seqscan = on
SET enable_indexscan = off
SET enable_indexonlyscan = off
SET enable_bitmapscan = off
SET constraint_exclusion = off
AS $$
DECLARE
  home CONSTANT text := (SELECT extnamespace::regnamespace FROM pg_extension WHERE extname = 'idem');
  at_once CONSTANT bigint := 8192;
  list CONSTANT text := concat_ws(', ', 'count(*)', (
    SELECT string_agg(format('count(*) FILTER (WHERE %s)', u.condition), ', ' ORDER BY u.place)
    FROM unnest(conditions) WITH ORDINALITY AS u (condition, place)));
  source CONSTANT text := (SELECT CASE relkind WHEN 'p' THEN '' ELSE 'ONLY ' END || target FROM pg_class WHERE oid = target);
  started CONSTANT timestamptz := clock_timestamp();
  told timestamptz := started;
  first_block bigint := 0;
  end_block bigint;
  expected text;
  counts bigint[];
  more bigint[];
BEGIN
  SELECT pg_relation_size(c.oid) / current_setting('block_size')::bigint INTO end_block
  FROM pg_class AS c
  JOIN pg_am AS m ON m.oid = c.relam
  WHERE c.oid = target AND c.relkind = 'r' AND m.amname = 'heap';
  EXECUTE format('SELECT %s._idem_expected_rows($1)', home) INTO expected USING target;
  RAISE NOTICE '%: % begins, %', target, step, expected;
  LOOP
    EXECUTE format('SELECT ARRAY[%s] FROM %s%s', list, source, CASE
        WHEN first_block + at_once < end_block
          THEN format(' WHERE ctid >= ''(%s,0)'' AND ctid < ''(%s,0)''', first_block, first_block + at_once)
        WHEN first_block > 0 THEN format(' WHERE ctid >= ''(%s,0)''', first_block)
        ELSE '' END)
      INTO more;
    counts := (
      SELECT array_agg(coalesce(u.sum, 0) + u.part ORDER BY u.place)
      FROM ROWS FROM (unnest(counts), unnest(more)) WITH ORDINALITY AS u (sum, part, place));
    first_block := first_block + at_once;
    EXIT WHEN first_block >= coalesce(end_block, 0);
    IF clock_timestamp() - told >= interval '2 seconds' THEN
      told := clock_timestamp();
      RAISE NOTICE '%: % has read % of % blocks, % s', target, step, first_block, end_block,
        round(extract(epoch FROM told - started), 1);
    END IF;
  END LOOP;
  RAISE NOTICE '%: % ends, % rows, % s', target, step, counts[1],
    round(extract(epoch FROM clock_timestamp() - started), 1);
  RETURN counts;
END
$$;

-- The groups of rows that are alike in the columns, largest first, with some of the rows' ids. With a time column:
-- only rows that another one of the group is near to in time. Scans the heap; what does not fit work_mem goes to disk.
CREATE FUNCTION _idem_shared_keys(
  target regclass,
  columns name[],
  nulls_alike boolean,
  hidden name[],
  id_column name,
  amount_column name,
  time_column name,
  near interval,
  max_groups integer,
  max_ids integer,
  step text)
RETURNS TABLE ("values" jsonb, "rows" bigint, amount numeric, ids jsonb, groups bigint, all_rows bigint)
LANGUAGE plpgsql STABLE CALLED ON NULL INPUT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = on
SET enable_indexscan = off
SET enable_indexonlyscan = off
SET enable_bitmapscan = off
SET constraint_exclusion = off
AS $$
DECLARE
  home CONSTANT text := (SELECT extnamespace::regnamespace FROM pg_extension WHERE extname = 'idem');
  partitioned CONSTANT boolean := (SELECT relkind = 'p' FROM pg_class WHERE oid = target);
  started CONSTANT timestamptz := clock_timestamp();
  -- What the rows of a group have in common does not tell them apart; other columns may be hidden.
  id_columns name[] := CASE WHEN id_column IS NOT NULL THEN ARRAY[id_column] ELSE ARRAY(
    SELECT a.attname
    FROM pg_index AS i
    CROSS JOIN unnest(i.indkey::smallint[]) WITH ORDINALITY AS u (number, place)
    JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = u.number
    WHERE i.indrelid = target AND i.indisprimary AND u.place <= i.indnkeyatts AND a.attname <> ALL (columns || hidden)
    ORDER BY u.place) END;
  key_list text;
  key_source text;
  key_filter text;
  key_json text;
  id_order text;
  id_source text;
  id_json text;
  source text;
  expected text;
  found boolean;
  listed bigint := 0;
BEGIN
  EXECUTE format($sql$
    SELECT string_agg('k' || c.place, ', ' ORDER BY c.place),
      string_agg(c.value_sql || ' AS k' || c.place, ', ' ORDER BY c.place),
      string_agg(format('%%I IS NOT NULL', $2[c.place]), ' AND ' ORDER BY c.place),
      string_agg(format('%%L, ', $2[c.place]) || format(c.json_sql, 'k' || c.place), ', ' ORDER BY c.place)
    FROM %s._idem_column_sql($1, $2) AS c$sql$, home)
    INTO key_list, key_source, key_filter, key_json USING target, columns;
  EXECUTE format($sql$
    SELECT string_agg(format(c.order_sql, 'i' || c.place), ', ' ORDER BY c.place),
      string_agg(c.value_sql || ' AS i' || c.place, ', ' ORDER BY c.place),
      CASE count(*) WHEN 1 THEN min(format(c.json_sql, 'i1')) ELSE format('jsonb_build_object(%%s)',
        string_agg(format('%%L, ', $2[c.place]) || format(c.json_sql, 'i' || c.place), ', ' ORDER BY c.place)) END
    FROM %s._idem_column_sql($1, $2) AS c$sql$, home)
    INTO id_order, id_source, id_json USING target, id_columns;
  -- Rows that no primary key tells apart are named by their place.
  IF id_order IS NULL THEN
    id_order := CASE WHEN partitioned THEN 'i1, i2' ELSE 'i1' END;
    id_source := CASE WHEN partitioned THEN 'tableoid AS i1, ctid AS i2' ELSE 'ctid AS i1' END;
    id_json := CASE WHEN partitioned THEN 'jsonb_build_object(''table'', i1::regclass, ''ctid'', i2::text)'
      ELSE 'to_jsonb(i1::text)' END;
  END IF;
  EXECUTE format('SELECT %s._idem_expected_rows($1)', home) INTO expected USING target;
  RAISE NOTICE '%: % begins, %', target, step, expected;
  source := CASE WHEN partitioned THEN '' ELSE 'ONLY ' END || target
    || CASE WHEN nulls_alike THEN '' ELSE ' WHERE ' || key_filter END;
  -- OFFSET 0 keeps the planner from concluding anything from the indexes that are not trusted here.
  EXECUTE format('SELECT count(*) > 0 FROM (SELECT FROM (SELECT %s FROM %s OFFSET 0) AS s GROUP BY %s HAVING count(*) > 1) AS g',
      key_source, source, key_list)
    INTO found;
  -- Where there are any, a sort puts them side by side. It is slower than counting, and in a sound table not needed.
  IF found THEN
    RETURN QUERY EXECUTE format($sql$
      WITH candidates AS (
        SELECT s.*, %1$s AS alike
        FROM (SELECT %2$s, %3$s, %4$s AS amount, %5$s AS seen_at FROM %6$s OFFSET 0) AS s
        WINDOW w AS (PARTITION BY %7$s ORDER BY seen_at, %8$s)),
      alike AS (
        SELECT c.*, row_number() OVER (PARTITION BY %7$s ORDER BY seen_at, %8$s) AS nth FROM candidates AS c WHERE c.alike),
      grouped AS (
        SELECT %7$s, count(*) AS n, sum(amount)::numeric AS amount,
          jsonb_agg(%9$s ORDER BY nth) FILTER (WHERE nth <= $2) AS ids
        FROM alike GROUP BY %7$s)
      SELECT jsonb_build_object(%10$s), n, amount, ids, count(*) OVER (), (sum(n) OVER ())::bigint
      FROM grouped ORDER BY n DESC, %7$s LIMIT $3$sql$,
      CASE WHEN time_column IS NULL THEN 'coalesce(lag(true) OVER w, lead(true) OVER w, false)'
        ELSE 'coalesce(seen_at <= lag(seen_at) OVER w + $1, false) OR coalesce(lead(seen_at) OVER w <= seen_at + $1, false)' END,
      key_source, id_source, coalesce(quote_ident(amount_column), 'NULL::bigint'),
      -- To the last times that there are nothing can be added.
      coalesce('least(' || quote_ident(time_column) || ', timestamptz ''290000-01-01 00:00:00+00'')', 'NULL::timestamptz'),
      source, key_list, id_order, id_json, key_json)
      USING near, max_ids, max_groups;
    GET DIAGNOSTICS listed = ROW_COUNT;
  END IF;
  RAISE NOTICE '%: % ends, % groups listed, % s', target, step, listed,
    round(extract(epoch FROM clock_timestamp() - started), 1);
END
$$;

CREATE FUNCTION idem_find_duplicates(
  target regclass,
  columns text[],
  amount_column text DEFAULT NULL,
  max_groups integer DEFAULT 100,
  max_ids integer DEFAULT 10)
RETURNS TABLE ("values" jsonb, "rows" bigint, amount numeric, ids jsonb, groups bigint)
LANGUAGE plpgsql STABLE CALLED ON NULL INPUT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  home CONSTANT text := (SELECT extnamespace::regnamespace FROM pg_extension WHERE extname = 'idem');
  summed name;
  amount_type oid;
  name text;
  null_condition text;
  foreign_code text;
  counts bigint[];
BEGIN
  EXECUTE format('SELECT %s._idem_check_readable($1)', home) USING target;
  EXECUTE format('SELECT %s._idem_foreign_code($1)', home) INTO foreign_code USING target;
  IF foreign_code IS NOT NULL THEN
    RAISE EXCEPTION 'reading table % may run functions of other roles', target USING ERRCODE = 'insufficient_privilege',
      DETAIL = format('They are %s, and would have the rights of role %I.', foreign_code, current_user),
      HINT = 'Have their owner look for duplicates, or give the functions to a superuser.';
  END IF;
  IF columns IS NULL OR array_position(columns, NULL) IS NOT NULL THEN
    RAISE EXCEPTION 'columns must not be null' USING ERRCODE = 'null_value_not_allowed';
  END IF;
  IF cardinality(columns) = 0 THEN
    RAISE EXCEPTION 'columns must not be empty' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  IF coalesce(max_groups, 0) < 1 OR coalesce(max_ids, 0) < 1 THEN
    RAISE EXCEPTION 'max_groups and max_ids must be at least 1' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  IF cardinality(columns) <> (SELECT count(DISTINCT u.name) FROM unnest(columns) AS u (name)) THEN
    RAISE EXCEPTION 'a column is named twice' USING ERRCODE = 'duplicate_column';
  END IF;
  FOREACH name IN ARRAY columns || amount_column LOOP
    IF name IS NOT NULL AND NOT EXISTS (
      SELECT FROM pg_attribute AS a
      WHERE a.attrelid = target AND a.attname::text = name AND a.attnum > 0 AND NOT a.attisdropped)
    THEN
      RAISE EXCEPTION 'column "%" of table % does not exist', name, target USING ERRCODE = 'undefined_column';
    END IF;
  END LOOP;
  SELECT a.attname, coalesce(nullif(t.typbasetype, 0), t.oid) INTO summed, amount_type
  FROM pg_attribute AS a
  JOIN pg_type AS t ON t.oid = a.atttypid
  WHERE a.attrelid = target AND a.attname::text = coalesce(amount_column, 'amount_minor') AND NOT a.attisdropped;
  IF summed IS NOT NULL AND amount_type NOT IN ('smallint'::regtype, 'integer'::regtype, 'bigint'::regtype, 'numeric'::regtype)
  THEN
    IF amount_column IS NOT NULL THEN
      RAISE EXCEPTION 'column "%" of table % is not of an integer type or numeric', amount_column, target
        USING ERRCODE = 'datatype_mismatch';
    END IF;
    summed := NULL;
  END IF;
  -- As for UNIQUE, a NULL equals nothing; how many rows that leaves out is told.
  EXECUTE format('SELECT string_agg(format(''%%I IS NULL'', $2[c.place]), '' OR '') FROM %s._idem_column_sql($1, $2) AS c '
    'WHERE c.nullable', home)
    INTO null_condition USING target, columns::name[];
  IF null_condition IS NOT NULL THEN
    EXECUTE format('SELECT %s._idem_count_rows($1, $2, $3)', home)
      INTO counts USING target, ARRAY[null_condition], 'step 1 of 2, rows with nulls,';
    RAISE NOTICE '%: % rows have a null in the columns and so are no duplicates', target, counts[2];
  END IF;
  RETURN QUERY EXECUTE format('SELECT d."values", d."rows", d.amount, d.ids, d.groups '
    'FROM %s._idem_shared_keys($1, $2, false, ''{}''::name[], NULL::name, $3, NULL::name, NULL::interval, $4, $5, $6) AS d',
    home)
    USING target, columns::name[], summed, max_groups, max_ids,
      CASE WHEN null_condition IS NULL THEN 'step 1 of 1' ELSE 'step 2 of 2' END || ', duplicates,';
END
$$;

REVOKE ALL ON FUNCTION idem_find_duplicates(regclass, text[], text, integer, integer) FROM PUBLIC;

COMMENT ON FUNCTION idem_find_duplicates(regclass, text[], text, integer, integer) IS
  'groups of rows that are alike in the columns, read from the table and not from an index: what stands in the way of a unique constraint';
-- What an audit finds in one table

-- What the columns of a table mean: those of the ledger, of an attached table, or those that idem_attach would take by
-- default, where they exist.
CREATE FUNCTION _idem_audit_subject(target regclass)
RETURNS TABLE (kind text, scope name[], complete boolean, hash_column name, id_column name, amount_column name, time_column name)
LANGUAGE plpgsql STABLE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  home CONSTANT text := (SELECT extnamespace::regnamespace FROM pg_extension WHERE extname = 'idem');
  attached record;
  numbers smallint[];
BEGIN
  EXECUTE format('SELECT * FROM %s.idem_tables WHERE target = $1', home) INTO attached USING target;
  IF to_regclass(home || '.idem_transactions') = target THEN
    kind := 'ledger';
  ELSIF attached.target IS NOT NULL THEN
    kind := 'attached';
    numbers := ARRAY[attached.tenant_number, attached.operation_number, attached.key_number, attached.hash_number,
      attached.id_number];
  ELSE
    kind := 'other';
  END IF;
  IF numbers IS NULL THEN
    numbers := ARRAY(
      SELECT coalesce(a.attnum, 0)
      FROM unnest(ARRAY['tenant_id', 'operation', 'idempotency_key', 'request_hash', 'id']) WITH ORDINALITY AS u (name, place)
      LEFT JOIN pg_attribute AS a ON a.attrelid = target AND a.attname = u.name AND NOT a.attisdropped
      ORDER BY u.place);
  END IF;
  scope := ARRAY(
    SELECT a.attname
    FROM unnest(numbers[1:3]) WITH ORDINALITY AS u (number, place)
    JOIN pg_attribute AS a ON a.attrelid = target AND a.attnum = u.number AND NOT a.attisdropped
    WHERE u.number > 0
    ORDER BY u.place);
  -- Tables that are not attached may do with a fixed operation.
  complete := CASE kind
    WHEN 'ledger' THEN cardinality(scope) = 3
    WHEN 'attached' THEN cardinality(scope) = CASE WHEN attached.operation_column IS NULL THEN 2 ELSE 3 END
    ELSE 'tenant_id' = ANY (scope) AND 'idempotency_key' = ANY (scope) END;
  hash_column := (SELECT a.attname FROM pg_attribute AS a
    WHERE a.attrelid = target AND a.attnum = numbers[4] AND a.attnum > 0 AND a.atttypid = 'bytea'::regtype);
  id_column := (SELECT a.attname FROM pg_attribute AS a WHERE a.attrelid = target AND a.attnum = numbers[5] AND a.attnum > 0);
  amount_column := (SELECT a.attname FROM pg_attribute AS a
    WHERE a.attrelid = target AND a.attname = 'amount_minor' AND NOT a.attisdropped
      AND a.atttypid IN ('smallint'::regtype, 'integer'::regtype, 'bigint'::regtype, 'numeric'::regtype));
  -- created_at, or else the only column of its type.
  time_column := (
    SELECT CASE WHEN bool_or(a.attname = 'created_at') THEN 'created_at' WHEN count(*) = 1 THEN min(a.attname::text) END
    FROM pg_attribute AS a
    WHERE a.attrelid = target AND a.attnum > 0 AND NOT a.attisdropped AND a.atttypid = 'timestamptz'::regtype);
  RETURN NEXT;
END
$$;

-- Which index makes the scope unique, and what is wrong with those that nearly do.
CREATE FUNCTION _idem_audit_keys(target regclass, scope name[])
RETURNS TABLE (severity text, code text, object text, finding text, hint text)
LANGUAGE plpgsql STABLE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  home CONSTANT text := (SELECT extnamespace::regnamespace FROM pg_extension WHERE extname = 'idem');
  numbers CONSTANT smallint[] := ARRAY(
    SELECT a.attnum FROM pg_attribute AS a WHERE a.attrelid = target AND a.attname = ANY (scope) AND NOT a.attisdropped);
  names CONSTANT text := (SELECT string_agg(format('%I', u.name), ', ' ORDER BY u.place)
    FROM unnest(scope) WITH ORDINALITY AS u (name, place));
  ddl CONSTANT text := (
    SELECT format('CREATE UNIQUE INDEX %sON %s (%s);', CASE c.relkind WHEN 'p' THEN '' ELSE 'CONCURRENTLY ' END, target,
      (SELECT string_agg(quote_ident(a.attname) || CASE WHEN coalesce(l.collisdeterministic, true) THEN '' ELSE ' COLLATE "C"' END, ', '
         ORDER BY u.place)
       FROM unnest(scope) WITH ORDINALITY AS u (name, place)
       JOIN pg_attribute AS a ON a.attrelid = target AND a.attname = u.name
       LEFT JOIN pg_collation AS l ON l.oid = a.attcollation))
    FROM pg_class AS c WHERE c.oid = target);
  index record;
  protected boolean;
BEGIN
  EXECUTE format('SELECT EXISTS (SELECT FROM pg_index AS i '
    'WHERE i.indrelid = $1 AND %s._idem_key_problem(i.indexrelid::regclass, $2) IS NULL)', home)
    INTO protected USING target, numbers;
  IF NOT protected THEN
    severity := 'error';
    code := 'unprotected';
    object := target;
    finding := format('no unique index protects exactly (%s)', names);
    hint := ddl;
    RETURN NEXT;
  END IF;
  FOR index IN EXECUTE format($sql$
    SELECT i.indexrelid::regclass AS name, %s._idem_key_problem(i.indexrelid::regclass, $2) AS problem,
      array_remove(k.columns, 0::smallint) <@ $2 AND i.indnkeyatts = cardinality($2) AS has_scope,
      i.indisunique AND k.columns @> $2 AND i.indnkeyatts > cardinality($2) AS has_more
    FROM pg_index AS i
    CROSS JOIN LATERAL (SELECT (i.indkey::smallint[])[0:i.indnkeyatts - 1] AS columns) AS k
    WHERE i.indrelid = $1
    ORDER BY i.indexrelid::regclass::text COLLATE "C"$sql$, home) USING target, numbers
  LOOP
    object := index.name;
    -- Invalid ones are told of whatever their columns are.
    IF NOT protected AND (index.has_scope OR index.has_more) AND index.problem <> 'invalid' THEN
      severity := 'error';
      code := 'key_' || CASE WHEN index.has_more THEN 'other_columns' ELSE index.problem END;
      finding := CASE code
        WHEN 'key_not_unique' THEN 'the index on the scope is not unique'
        WHEN 'key_deferrable' THEN 'the unique constraint on the scope is deferrable'
        WHEN 'key_partial' THEN 'the unique index on the scope is partial: rows outside of its condition are not covered'
        WHEN 'key_expression' THEN 'the unique index has an expression in place of a column of the scope'
        WHEN 'key_other_columns' THEN 'the unique index has more columns than the scope: one key may have several rows'
        WHEN 'key_nullable' THEN 'a column of the scope may be null, and nulls are distinct in the unique index'
        WHEN 'key_nondeterministic'
          THEN 'the unique index has a nondeterministic collation: it takes different keys for the same'
        WHEN 'key_inexact' THEN 'the unique index is on a type that makes one value of different keys'
        ELSE format('the index does not protect the scope (%s)', index.problem) END;
      hint := CASE code
        WHEN 'key_nullable' THEN (SELECT format('ALTER TABLE %s %s;', target,
            string_agg(format('ALTER %I SET NOT NULL', a.attname), ', ' ORDER BY a.attnum))
          FROM pg_attribute AS a WHERE a.attrelid = target AND a.attnum = ANY (numbers) AND NOT a.attnotnull)
        WHEN 'key_inexact' THEN 'Use text, uuid, an integer type or an enum.'
        ELSE ddl END;
      RETURN NEXT;
    END IF;
  END LOOP;
  -- A column that is nullable is told also where no index comes near.
  IF NOT protected THEN
    RETURN QUERY
      SELECT 'error', 'column_nullable', format('%s.%I', target, a.attname), 'a column of the scope may be null',
        format('ALTER TABLE %s ALTER %I SET NOT NULL;', target, a.attname)
      FROM pg_attribute AS a
      WHERE a.attrelid = target AND a.attnum = ANY (numbers) AND NOT a.attnotnull
      ORDER BY a.attnum;
  END IF;
  RETURN QUERY
    SELECT CASE WHEN protected THEN 'warning' ELSE 'error' END, 'column_nondeterministic', format('%s.%I', target, a.attname),
      'a column of the scope has a nondeterministic collation', 'Give the column the collation "C", or the index one.'
    FROM pg_attribute AS a
    JOIN pg_collation AS l ON l.oid = a.attcollation
    WHERE a.attrelid = target AND a.attnum = ANY (numbers) AND NOT l.collisdeterministic
    ORDER BY a.attnum;
END
$$;

-- What the catalogs say about the table beside its keys.
CREATE FUNCTION _idem_audit_shape(target regclass)
RETURNS TABLE (severity text, code text, object text, finding text, hint text)
LANGUAGE sql STABLE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT 'error', 'unlogged', c.oid::regclass::text, 'the table is unlogged: a crash empties it, and every key is free again',
    format('ALTER TABLE %s SET LOGGED;', c.oid::regclass)
  FROM pg_class AS c
  WHERE c.relpersistence = 'u' AND (c.oid = target OR c.oid IN (SELECT relid FROM pg_partition_tree(target)))
  UNION ALL
  (SELECT CASE WHEN indisunique THEN 'error' ELSE 'warning' END, 'index_invalid', indexrelid::regclass::text,
    CASE WHEN indisunique THEN 'the unique index is invalid and protects nothing'
      ELSE 'the index is invalid: it costs writes and serves nothing' END,
    format('DROP INDEX CONCURRENTLY %s;', indexrelid::regclass)
      || CASE WHEN indisunique THEN ' then remove the duplicates and create it again.' ELSE '' END
  FROM pg_index WHERE indrelid = target AND NOT (indisvalid AND indisready AND indislive)
  ORDER BY indexrelid::regclass::text COLLATE "C")
  UNION ALL
  -- An index that was built in the order of another version finds rows no more, and lets their keys in again.
  (SELECT DISTINCT 'error', 'collation_drift', i.indexrelid::regclass::text,
    format('its order is that of version %s of %s, which is version %s now', l.stored, l.name, l.actual),
    format('REINDEX INDEX CONCURRENTLY %s; and, after all other indexes: ALTER %s VERSION;', i.indexrelid::regclass, l.refresh)
  FROM pg_index AS i
  CROSS JOIN LATERAL unnest(i.indcollation::oid[]) AS u (sorted_by)
  CROSS JOIN LATERAL (
    SELECT 'the database''s collation', format('DATABASE %I REFRESH COLLATION', d.datname), d.datcollversion,
      pg_database_collation_actual_version(d.oid)
    FROM pg_database AS d
    WHERE d.datname = current_database() AND u.sorted_by = 'pg_catalog."default"'::regcollation
    UNION ALL
    SELECT 'collation ' || c.oid::regcollation, format('COLLATION %s REFRESH', c.oid::regcollation), c.collversion,
      pg_collation_actual_version(c.oid)
    FROM pg_collation AS c
    WHERE c.oid = u.sorted_by AND u.sorted_by <> 'pg_catalog."default"'::regcollation) AS l (name, refresh, stored, actual)
  WHERE i.indrelid = target AND i.indisunique AND l.stored <> l.actual
  ORDER BY 3)
  UNION ALL
  SELECT 'error', 'constraint_deferrable', target::text, format('constraint %I is deferrable: calls cannot yield to it', conname),
    'Make the constraint NOT DEFERRABLE.'
  FROM pg_constraint WHERE conrelid = target AND contype IN ('p', 'u', 'x') AND condeferrable
  UNION ALL
  SELECT 'error', 'rule', target::text, format('rule %I for %s: calls cannot insert', rulename,
      CASE ev_type WHEN '2' THEN 'UPDATE' ELSE 'INSERT' END),
    'Use a trigger instead of the rule.'
  FROM pg_rewrite WHERE ev_class = target AND ev_type IN ('2', '3')
  UNION ALL
  SELECT 'warning', 'inheritance_child', inhrelid::regclass::text, format('the unique keys of %s do not cover its rows', target),
    'Move its rows into the table, or make partitions.'
  FROM pg_inherits JOIN pg_class AS p ON p.oid = inhparent
  WHERE inhparent = target AND p.relkind = 'r'
  UNION ALL
  -- Bits of tgtype: 1 for each row, 2 before, 4 insert.
  SELECT 'notice', 'before_insert_trigger', target::text, format('trigger %I may change or suppress new rows', tgname),
    'It must leave the columns of the scope as they are; calls raise 55000 where it does not.'
  FROM pg_trigger WHERE tgrelid = target AND tgtype & 7 = 7 AND NOT tgisinternal AND tgenabled <> 'D'
  UNION ALL
  SELECT 'warning', 'rows_hidden', target::text,
    format('row security binds role %I: what the audit says about rows is about those it sees', current_user),
    'Run the audit as a superuser or as a role with BYPASSRLS.'
  WHERE row_security_active(target)
$$;

-- One finding for each listed group of rows, and one for those that are not listed.
CREATE FUNCTION _idem_audit_groups(
  target regclass,
  columns name[],
  nulls_alike boolean,
  hidden name[],
  id_column name,
  amount_column name,
  time_column name,
  near interval,
  max_groups integer,
  step text,
  severity text,
  code text,
  meaning text,
  hint text)
RETURNS TABLE (f_severity text, f_code text, f_object text, f_finding text, f_hint text)
LANGUAGE plpgsql STABLE CALLED ON NULL INPUT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  home CONSTANT text := (SELECT extnamespace::regnamespace FROM pg_extension WHERE extname = 'idem');
  max_ids CONSTANT integer := 5;
  alike record;
  listed bigint := 0;
  listed_rows bigint := 0;
BEGIN
  f_severity := severity;
  f_code := code;
  f_object := target;
  f_hint := hint;
  FOR alike IN EXECUTE format('SELECT * FROM %s._idem_shared_keys($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)', home)
    USING target, columns, nulls_alike, hidden, id_column, amount_column, time_column, near, max_groups, max_ids, step
  LOOP
    -- The values stay out of it: reports of audits are kept and sent around, and the ids name the rows.
    f_finding := format('%s rows have the same %s%s%s; ids %s%s', alike."rows",
      (SELECT string_agg(quote_ident(u.name), ', ' ORDER BY u.place)
       FROM unnest(columns) WITH ORDINALITY AS u (name, place)),
      meaning, '; ' || quote_ident(amount_column) || ' sums to ' || alike.amount,
      (SELECT string_agg(u.id #>> '{}', ', ' ORDER BY u.place)
       FROM jsonb_array_elements(alike.ids) WITH ORDINALITY AS u (id, place)),
      CASE WHEN alike."rows" > max_ids THEN format(' and %s more', alike."rows" - max_ids) ELSE '' END);
    listed := listed + 1;
    listed_rows := listed_rows + alike."rows";
    RETURN NEXT;
  END LOOP;
  IF listed > 0 AND alike.groups > listed THEN
    f_code := code || '_more';
    f_finding := format('%s more groups with %s rows are not listed', alike.groups - listed, alike.all_rows - listed_rows);
    f_hint := 'Ask for more with max_groups.';
    RETURN NEXT;
  END IF;
END
$$;

-- What the rows themselves say; progress is told.
CREATE FUNCTION _idem_audit_rows(target regclass, near interval, max_groups integer)
RETURNS TABLE (severity text, code text, object text, finding text, hint text)
LANGUAGE plpgsql STABLE CALLED ON NULL INPUT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET intervalstyle = postgres
AS $$
DECLARE
  home CONSTANT text := (SELECT extnamespace::regnamespace FROM pg_extension WHERE extname = 'idem');
  groups CONSTANT text := format(
    'SELECT * FROM %s._idem_audit_groups($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)', home);
  subject record;
  guard record;
  nullable text;
  has_order boolean;
  has_repeats boolean;
  steps integer;
  counts bigint[];
BEGIN
  EXECUTE format('SELECT * FROM %s._idem_audit_subject($1)', home) INTO subject USING target;
  EXECUTE format($sql$
    SELECT min(i.indexrelid::regclass::text COLLATE "C") AS name, coalesce(bool_or(i.indnullsnotdistinct), false) AS nulls_alike
    FROM pg_index AS i
    WHERE i.indrelid = $1 AND %s._idem_key_problem(i.indexrelid::regclass, $2) IS NULL$sql$, home)
    INTO guard USING target, ARRAY(
      SELECT a.attnum FROM pg_attribute AS a WHERE a.attrelid = target AND a.attname = ANY (subject.scope));
  nullable := (SELECT string_agg(format('%I IS NULL', a.attname), ' OR ' ORDER BY a.attnum)
    FROM pg_attribute AS a WHERE a.attrelid = target AND a.attname = ANY (subject.scope) AND NOT a.attnotnull);
  has_order := subject.kind = 'ledger' AND EXISTS (
    SELECT FROM pg_attribute AS a WHERE a.attrelid = target AND a.attname = 'order_ref' AND NOT a.attisdropped);
  has_repeats := near IS NOT NULL AND subject.kind <> 'other' AND subject.hash_column IS NOT NULL
    AND subject.time_column IS NOT NULL;
  steps := 2 + has_order::integer + has_repeats::integer;

  object := target;
  EXECUTE format('SELECT %s._idem_count_rows($1, $2, $3)', home)
    INTO counts USING target, ARRAY[
      coalesce(nullable, 'false'),
      CASE WHEN subject.kind = 'attached' AND subject.hash_column IS NOT NULL
        THEN format('%I IS NULL', subject.hash_column) ELSE 'false' END,
      CASE
        WHEN subject.hash_column IS NULL THEN 'false'
        WHEN subject.kind = 'ledger' AND EXISTS (
            SELECT FROM pg_attribute AS a WHERE a.attrelid = target AND a.attname = 'hash_version' AND NOT a.attisdropped)
          THEN 'octet_length(request_hash) <> 32 OR hash_version <> 1'
        WHEN subject.kind = 'attached'
          THEN format('CASE WHEN octet_length(%1$I) < 33 THEN true ELSE get_byte(%1$I, 0) <> 1 END', subject.hash_column)
        ELSE 'false' END],
    format('step 1 of %s, counting,', steps);
  IF counts[2] > 0 AND NOT guard.nulls_alike THEN
    severity := 'error';
    code := 'null_in_scope';
    finding := format('%s rows have a null in (%s): no unique key covers them', counts[2], array_to_string(subject.scope, ', '));
    hint := 'Fill the columns in, then set them NOT NULL.';
    RETURN NEXT;
  END IF;
  IF counts[3] > 0 THEN
    severity := 'notice';
    code := 'fingerprint_missing';
    finding := format('%s of %s rows have no fingerprint, as those from before the table was attached', counts[3], counts[1]);
    hint := 'A replay of such a row is compared by the columns that are sent.';
    RETURN NEXT;
  END IF;
  IF counts[4] > 0 THEN
    severity := 'error';
    code := 'fingerprint_malformed';
    finding := format('%s rows have a fingerprint of the wrong length or of an unknown version', counts[4]);
    hint := 'Find out what wrote them: calls with their keys cannot be compared.';
    RETURN NEXT;
  END IF;

  RETURN QUERY EXECUTE groups USING target, subject.scope, guard.nulls_alike, subject.scope, subject.id_column,
    subject.amount_column, NULL::name, NULL::interval, max_groups, format('step 2 of %s, duplicates,', steps), 'error',
    CASE WHEN guard.name IS NULL THEN 'duplicates' ELSE 'duplicates_behind_index' END,
    CASE WHEN guard.name IS NULL THEN ' and stand in the way of a unique index'
      ELSE format(', although index %s is unique: it is damaged', guard.name) END,
    CASE WHEN guard.name IS NULL THEN 'Remove them as docs/adopting.md shows.'
      ELSE format('Decide which row stays, then REINDEX INDEX CONCURRENTLY %s; and find out why it was damaged.', guard.name) END;
  IF has_order THEN
    RETURN QUERY EXECUTE groups USING target, ARRAY['tenant_id', 'operation', 'order_ref']::name[], false, subject.scope,
      subject.id_column, subject.amount_column, NULL::name, NULL::interval, max_groups, format('step 3 of %s, order_ref,', steps), 'error',
      'duplicate_orders', '', 'Decide which row stays; then REINDEX or create the unique index on these columns.';
  END IF;
  IF has_repeats THEN
    RETURN QUERY EXECUTE groups USING target,
      array_append((SELECT array_agg(u.name ORDER BY u.place) FROM unnest(subject.scope) WITH ORDINALITY AS u (name, place)
        WHERE u.place < cardinality(subject.scope)), subject.hash_column),
      false, subject.scope, subject.id_column, subject.amount_column, subject.time_column, near, max_groups,
      format('step %1$s of %1$s, repeated content,', steps), 'notice', 'repeated_content',
      format(' within %s', near),
      'Where these are retries, the client makes a new key for each: a retry has to send the key of the first attempt.';
  ELSIF near IS NOT NULL AND subject.kind = 'attached' THEN
    severity := 'notice';
    code := 'no_time_column';
    finding := 'repeated content was not searched for: there is no column created_at, and not exactly one of type timestamptz';
    hint := 'Add a column created_at timestamptz NOT NULL DEFAULT now().';
    RETURN NEXT;
  END IF;
END
$$;

-- All that is found in one table; its rows are read where the caller may.
CREATE FUNCTION _idem_audit_relation(target regclass, near interval, max_groups integer)
RETURNS TABLE (severity text, code text, object text, finding text, hint text)
LANGUAGE plpgsql STABLE CALLED ON NULL INPUT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  home CONSTANT text := (SELECT extnamespace::regnamespace FROM pg_extension WHERE extname = 'idem');
  subject record;
  found boolean;
  foreign_code text;
BEGIN
  EXECUTE format('SELECT * FROM %s._idem_audit_subject($1)', home) INTO subject USING target;
  EXECUTE format('SELECT %s._idem_foreign_code($1)', home) INTO foreign_code USING target;
  object := target;
  IF subject.kind = 'ledger' THEN
    RETURN QUERY EXECUTE format('SELECT * FROM %s._idem_audit_ledger($1)', home) USING target;
  END IF;
  RETURN QUERY EXECUTE format('SELECT * FROM %s._idem_audit_shape($1)', home) USING target;
  IF subject.complete THEN
    RETURN QUERY EXECUTE format('SELECT * FROM %s._idem_audit_keys($1, $2)', home) USING target, subject.scope;
  END IF;
  IF subject.kind = 'other' THEN
    IF subject.complete THEN
      EXECUTE format('SELECT EXISTS (SELECT FROM %s._idem_audit_keys($1, $2) AS k WHERE k.severity = ''error'')', home)
        INTO found USING target, subject.scope;
    END IF;
    severity := 'notice';
    code := 'not_attached';
    finding := CASE
      WHEN NOT subject.complete THEN 'the table is not attached, and has no columns tenant_id and idempotency_key'
      ELSE format('the table is not attached%s for (%s)', CASE WHEN found THEN ', and its unique keys would not do'
          ELSE '; its unique keys would do' END, array_to_string(subject.scope, ', ')) END;
    hint := CASE
      WHEN NOT subject.complete THEN 'Name its columns to idem_attach; look for duplicates with idem_find_duplicates.'
      WHEN found THEN 'See the errors.'
      ELSE CASE WHEN subject.hash_column IS NULL THEN format('ALTER TABLE %s ADD request_hash bytea; ', target) ELSE '' END
        || format('SELECT %s.idem_attach(%L%s%s);', home, target,
          CASE WHEN 'operation' = ANY (subject.scope) THEN '' ELSE ', operation_column => NULL, fixed_operation => ''...''' END,
          CASE WHEN subject.id_column IS NULL THEN ', id_column => NULL' ELSE '' END) END;
    RETURN NEXT;
  END IF;
  IF NOT subject.complete THEN
    RETURN;
  END IF;
  IF NOT has_table_privilege(target, 'SELECT') THEN
    severity := 'warning';
    code := 'not_readable';
    finding := format('the rows could not be read by role %I', current_user);
    hint := format('GRANT SELECT ON %s TO %I;', target, current_user);
    RETURN NEXT;
  ELSIF foreign_code IS NOT NULL THEN
    severity := 'warning';
    code := 'foreign_code';
    finding := format('the rows were not read: that may run functions of other roles with the rights of role %I: %s',
      current_user, foreign_code);
    hint := 'Have the functions'' owner run the audit, or give the functions to a superuser.';
    RETURN NEXT;
  ELSIF pg_is_in_recovery() AND (SELECT c.relpersistence = 'u' FROM pg_class AS c WHERE c.oid = target) THEN
    severity := 'warning';
    code := 'not_readable';
    finding := 'a standby has no rows of an unlogged table';
    hint := 'Run the audit on the primary.';
    RETURN NEXT;
  ELSE
    RETURN QUERY EXECUTE format('SELECT * FROM %s._idem_audit_rows($1, $2, $3)', home) USING target, near, max_groups;
  END IF;
END
$$;

CREATE FUNCTION idem_audit_table(target regclass, retry_window interval DEFAULT '1 hour', max_groups integer DEFAULT 20)
RETURNS TABLE (severity text, code text, object text, finding text, hint text)
LANGUAGE plpgsql STABLE CALLED ON NULL INPUT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  home CONSTANT text := (SELECT extnamespace::regnamespace FROM pg_extension WHERE extname = 'idem');
BEGIN
  EXECUTE format('SELECT %s._idem_check_readable($1)', home) USING target;
  IF coalesce(max_groups, 0) < 1 THEN
    RAISE EXCEPTION 'max_groups must be at least 1' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  RETURN QUERY EXECUTE format('SELECT f.severity, f.code, f.object, f.finding, f.hint '
    'FROM %s._idem_audit_relation($1, $2, $3) WITH ORDINALITY AS f (severity, code, object, finding, hint, place) '
    'ORDER BY array_position(ARRAY[''error'', ''warning'', ''notice''], f.severity), f.place', home)
    USING target, retry_window, max_groups;
END
$$;

REVOKE ALL ON FUNCTION idem_audit_table(regclass, interval, integer) FROM PUBLIC;

COMMENT ON FUNCTION idem_audit_table(regclass, interval, integer) IS
  'what endangers the promise in one table, attached or not; reads only';
-- What an audit finds in the ledger beside its rows, in the server and in the registry

-- Roles that may change or remove rows, by themselves, through PUBLIC, a column's privilege or a membership.
CREATE FUNCTION _idem_audit_privileges(ledger regclass)
RETURNS TABLE (severity text, code text, object text, finding text, hint text)
LANGUAGE sql STABLE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
  WITH part AS (
    SELECT c.oid, c.relowner, c.relacl
    FROM pg_class AS c
    WHERE c.oid = ledger OR c.oid IN (SELECT relid FROM pg_partition_tree(ledger))),
  granted (relation, owner, grantee, privilege) AS (
    SELECT p.oid, p.relowner, x.grantee, x.privilege_type
    FROM part AS p
    CROSS JOIN aclexplode(coalesce(p.relacl, acldefault('r', p.relowner))) AS x
    WHERE x.privilege_type IN ('UPDATE', 'DELETE', 'TRUNCATE')
    UNION
    SELECT p.oid, p.relowner, x.grantee, x.privilege_type
    FROM part AS p
    JOIN pg_attribute AS a ON a.attrelid = p.oid
    CROSS JOIN aclexplode(a.attacl) AS x
    WHERE x.privilege_type = 'UPDATE'
    UNION
    -- An owner who took a privilege from itself can give it back.
    SELECT p.oid, p.relowner, p.relowner, u.privilege
    FROM part AS p CROSS JOIN unnest(ARRAY['UPDATE', 'DELETE', 'TRUNCATE']) AS u (privilege)
    UNION
    SELECT p.oid, p.relowner, 'pg_write_all_data'::regrole, u.privilege
    FROM part AS p CROSS JOIN unnest(ARRAY['UPDATE', 'DELETE']) AS u (privilege)),
  holder (relation, role, via, privilege) AS (
    SELECT g.relation, 'PUBLIC', NULL, g.privilege FROM granted AS g WHERE g.grantee = 0
    UNION
    SELECT g.relation, r.oid::regrole::text, CASE WHEN r.oid <> g.grantee THEN g.grantee::regrole::text END, g.privilege
    FROM granted AS g
    JOIN pg_roles AS r ON pg_has_role(r.oid, g.grantee, 'MEMBER')
    WHERE g.grantee <> 0 AND r.oid <> g.owner AND NOT r.rolsuper AND r.oid >= 16384)
  SELECT CASE h.role WHEN 'PUBLIC' THEN 'error' ELSE 'warning' END, 'may_change_ledger', h.relation::regclass::text,
    format('%s may %s', CASE h.role WHEN 'PUBLIC' THEN 'every role' ELSE 'role ' || h.role END,
        string_agg(DISTINCT h.privilege, ', ' ORDER BY h.privilege))
      || coalesce(' as a member of ' || string_agg(DISTINCT h.via, ', ' ORDER BY h.via), ''),
    CASE WHEN bool_and(h.via IS NULL)
      THEN format('REVOKE UPDATE, DELETE, TRUNCATE ON %s FROM %s;', h.relation::regclass, h.role)
      ELSE 'End the membership, or take the privilege from the role that has it.' END
  FROM holder AS h
  GROUP BY h.relation, h.role
  ORDER BY h.relation::regclass::text COLLATE "C", h.role COLLATE "C"
$$;

-- Whether the ledger has the form that calls expect, and is append-only for all but its owner.
CREATE FUNCTION _idem_audit_ledger(ledger regclass)
RETURNS TABLE (severity text, code text, object text, finding text, hint text)
LANGUAGE plpgsql STABLE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  home CONSTANT text := (SELECT extnamespace::regnamespace FROM pg_extension WHERE extname = 'idem');
BEGIN
  RETURN QUERY
    SELECT 'error', 'ledger_owner', ledger::text,
      format('its owner %s owns neither the extension nor the schema', c.relowner::regrole),
      'Inspect the table; if it is the right one, give it to the owner of the extension.'
    FROM pg_class AS c
    JOIN pg_extension AS e ON e.extname = 'idem'
    JOIN pg_namespace AS n ON n.oid = e.extnamespace
    WHERE c.oid = ledger AND c.relowner <> e.extowner AND NOT pg_has_role(c.relowner, n.nspowner, 'USAGE');
  RETURN QUERY
    SELECT 'error', 'ledger_column', format('%s.%I', ledger, w.name),
      CASE WHEN a.attnum IS NULL THEN 'the column is missing'
        ELSE format('the column must be %s%s%s', w.type, CASE WHEN w.type = 'text'::regtype THEN ' COLLATE "C"' ELSE '' END,
          CASE WHEN w.required THEN ' NOT NULL' ELSE '' END) END,
      'See the ledger''s columns in docs/ledger.md.'
    FROM (VALUES
        (1, 'tenant_id', 'text'::regtype, true), (2, 'id', 'uuid', true), (3, 'operation', 'text', true),
        (4, 'idempotency_key', 'text', true), (5, 'request_hash', 'bytea', true), (6, 'hash_version', 'smallint', true),
        (7, 'amount_minor', 'bigint', true), (8, 'currency', 'text', true), (9, 'order_ref', 'text', false),
        (10, 'details', 'jsonb', true), (11, 'created_at', 'timestamptz', true)) AS w (place, name, type, required)
    LEFT JOIN pg_attribute AS a ON a.attrelid = ledger AND a.attname = w.name AND NOT a.attisdropped
    WHERE a.attnum IS NULL OR a.atttypid <> w.type OR w.required AND NOT a.attnotnull
      OR w.type = 'text'::regtype AND a.attcollation <> 'pg_catalog."C"'::regcollation
    ORDER BY w.place;
  RETURN QUERY
    SELECT 'error', 'order_key_missing', ledger::text, 'no unique index protects (tenant_id, operation, order_ref)',
      format('CREATE UNIQUE INDEX CONCURRENTLY ON %s (tenant_id, operation, order_ref) WHERE order_ref IS NOT NULL;', ledger)
    WHERE NOT EXISTS (
      SELECT FROM pg_index AS i
      WHERE i.indrelid = ledger AND i.indisunique AND i.indisvalid AND i.indisready AND i.indislive AND i.indimmediate
        AND i.indexprs IS NULL AND (i.indpred IS NULL OR pg_get_expr(i.indpred, i.indrelid) = '(order_ref IS NOT NULL)')
        AND ARRAY(
          SELECT a.attname::text COLLATE "C"
          FROM unnest((i.indkey::smallint[])[0:i.indnkeyatts - 1]) AS u (number)
          JOIN pg_attribute AS a ON a.attrelid = ledger AND a.attnum = u.number
          ORDER BY 1) = ARRAY['operation', 'order_ref', 'tenant_id'] COLLATE "C");
  RETURN QUERY EXECUTE format('SELECT * FROM %s._idem_audit_privileges($1)', home) USING ledger;
END
$$;

-- Where commits of those who write to the tables are not waited for.
CREATE FUNCTION _idem_audit_durability(tables oid[])
RETURNS TABLE (severity text, code text, object text, finding text, hint text)
LANGUAGE plpgsql STABLE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  synchronous CONSTANT boolean := current_setting('synchronous_standby_names') <> '';
  server_wide text;
BEGIN
  -- What the server sets for all; a setting of this session, role or database would hide it.
  server_wide := (SELECT s.setting FROM pg_settings AS s
    WHERE s.name = 'synchronous_commit' AND s.source NOT IN ('database', 'user', 'database user', 'client', 'session'));
  IF server_wide IS NULL AND has_function_privilege('pg_show_all_file_settings()', 'EXECUTE')
    AND has_table_privilege('pg_file_settings', 'SELECT')
  THEN
    server_wide := (SELECT f.setting FROM pg_file_settings AS f
      WHERE f.name = 'synchronous_commit' AND f.error IS NULL ORDER BY f.seqno DESC LIMIT 1);
  END IF;
  -- A setting for a role in a database goes before one for the role, that before one for the database.
  RETURN QUERY
    WITH setting AS (
      SELECT s.setrole, s.setdatabase, lower(split_part(u.entry, '=', 2)) AS value
      FROM pg_db_role_setting AS s
      CROSS JOIN unnest(s.setconfig) AS u (entry)
      WHERE u.entry ILIKE 'synchronous_commit=%'
        AND s.setdatabase IN (0, (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database()))
      UNION ALL
      SELECT 0, 0, lower(server_wide) WHERE server_wide IS NOT NULL
        AND NOT EXISTS (SELECT FROM pg_db_role_setting AS a CROSS JOIN unnest(a.setconfig) AS u (entry)
          WHERE a.setrole = 0 AND a.setdatabase = 0 AND u.entry ILIKE 'synchronous_commit=%')),
    effective AS (
      SELECT DISTINCT ON (r.oid) r.oid, s.setrole, s.setdatabase, s.value
      FROM pg_roles AS r
      JOIN setting AS s ON s.setrole IN (0, r.oid)
      WHERE r.rolcanlogin AND EXISTS (SELECT FROM unnest(tables) AS t (oid) WHERE has_table_privilege(r.oid, t.oid, 'INSERT'))
      ORDER BY r.oid, s.setrole <> 0 DESC, s.setdatabase <> 0 DESC)
    SELECT DISTINCT 'warning', 'synchronous_commit_' || CASE WHEN e.value = 'local' THEN 'local' ELSE 'off' END,
      concat_ws(' in ', CASE WHEN e.setrole <> 0 THEN 'role ' || e.setrole::regrole END,
        CASE WHEN e.setdatabase <> 0 THEN format('database %I', current_database()) WHEN e.setrole = 0 THEN 'server' END),
      CASE WHEN e.value = 'local' THEN 'commits do not wait for the synchronous standby: a failover loses the last of them'
        ELSE 'commits are not waited for: a crash loses the last of them, and their keys are free again' END,
      format('ALTER %s RESET synchronous_commit;', CASE
        WHEN e.setrole <> 0 THEN 'ROLE ' || e.setrole::regrole
          || CASE WHEN e.setdatabase <> 0 THEN format(' IN DATABASE %I', current_database()) ELSE '' END
        WHEN e.setdatabase <> 0 THEN format('DATABASE %I', current_database()) ELSE 'SYSTEM' END)
    FROM effective AS e
    WHERE e.value IN ('off', 'false', 'no', '0') OR e.value = 'local' AND synchronous
    ORDER BY 3;
  RETURN QUERY
    SELECT 'error', 'fsync_off', 'server', 'fsync is off: a crash may lose or damage any table', 'ALTER SYSTEM SET fsync = on;'
    WHERE current_setting('fsync') = 'off';
  RETURN QUERY
    SELECT 'notice', 'standby_asynchronous', format('standby %I', r.application_name),
      'a failover to it may lose the last commits, and their keys are free again there',
      'Where that matters, name it in synchronous_standby_names.'
    FROM pg_stat_replication AS r
    WHERE r.state IN ('catchup', 'streaming') AND r.sync_state IN ('async', 'potential')
      AND NOT EXISTS (SELECT FROM pg_replication_slots AS s WHERE s.active_pid = r.pid AND s.slot_type = 'logical')
    ORDER BY r.application_name COLLATE "C";
  RETURN QUERY
    SELECT 'notice', 'replication_not_visible', 'server',
      format('role %I may not see which standbys are synchronous', current_user),
      format('GRANT pg_monitor TO %I;', current_user)
    WHERE EXISTS (SELECT FROM pg_stat_replication AS r WHERE r.state IS NULL)
      AND NOT pg_has_role('pg_read_all_stats', 'USAGE');
END
$$;

-- Whether library, SQL objects and registry fit together.
CREATE FUNCTION _idem_audit_installation()
RETURNS TABLE (severity text, code text, object text, finding text, hint text)
LANGUAGE plpgsql STABLE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  home CONSTANT text := (SELECT extnamespace::regnamespace FROM pg_extension WHERE extname = 'idem');
  library text;
BEGIN
  EXECUTE format('SELECT %s.idem_version()', home) INTO library;
  RETURN QUERY
    SELECT 'error', 'version_apart', 'extension idem', format('the library is %s, the SQL objects are %s', library, e.extversion),
      'Reconnect, so that the new library is loaded; then ALTER EXTENSION idem UPDATE;'
    FROM pg_extension AS e WHERE e.extname = 'idem' AND e.extversion <> library;
  RETURN QUERY
    SELECT 'error', 'ledger_missing', home || '.idem_transactions', 'the ledger does not exist',
      format('SELECT %s.idem_create_ledger();', home)
    WHERE to_regclass(home || '.idem_transactions') IS NULL;
  RETURN QUERY
    SELECT 'warning', 'database_collation_drift', format('database %I', d.datname),
      format('its collation was version %s when it was created, and is %s now', d.datcollversion, v.actual),
      format('Rebuild all indexes on text with its collation; then ALTER DATABASE %I REFRESH COLLATION VERSION;', d.datname)
    FROM pg_database AS d
    CROSS JOIN LATERAL pg_database_collation_actual_version(d.oid) AS v (actual)
    WHERE d.datname = current_database() AND d.datcollversion <> v.actual;
  RETURN QUERY
    SELECT 'warning', 'event_trigger_disabled', format('event trigger %I', t.evtname),
      'the registry of attached tables does not follow what is renamed or dropped',
      format('ALTER EVENT TRIGGER %I ENABLE ALWAYS;', t.evtname)
    FROM pg_event_trigger AS t
    JOIN pg_depend AS d ON d.classid = 'pg_event_trigger'::regclass AND d.objid = t.oid AND d.deptype = 'e'
    JOIN pg_extension AS e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND e.extname = 'idem'
    WHERE t.evtenabled IN ('D', 'R')
    ORDER BY t.evtname;
  RETURN QUERY EXECUTE format($sql$
    SELECT 'error', 'registry_target_missing', t.target_name, 'the registry has a table that does not exist',
      format('DELETE FROM %%s.idem_tables WHERE target = %%s;', %1$L, t.target)
    FROM %1$s.idem_tables AS t
    WHERE NOT EXISTS (SELECT FROM pg_class AS c WHERE c.oid = t.target)
    UNION ALL
    SELECT 'error', 'registry_column_missing', t.target::regclass::text,
      format('column %%I, which the registry has for its %%s, does not exist', u.name, u.meaning),
      'Attach the table again with its columns of now, or detach it.'
    FROM %1$s.idem_tables AS t
    JOIN pg_class AS c ON c.oid = t.target
    CROSS JOIN LATERAL (VALUES
      ('tenant', t.tenant_column, t.tenant_number), ('operation', t.operation_column, t.operation_number),
      ('key', t.key_column, t.key_number), ('fingerprint', t.hash_column, t.hash_number),
      ('id', t.id_column, t.id_number)) AS u (meaning, name, number)
    WHERE u.name IS NOT NULL AND NOT EXISTS (
      SELECT FROM pg_attribute AS a
      WHERE a.attrelid = t.target AND a.attnum = u.number AND a.attnum > 0 AND NOT a.attisdropped)
    UNION ALL
    SELECT 'warning', 'registry_name_apart', t.target::regclass::text,
      format('the registry calls the table %%s, by which a restored dump would not find it', t.target_name),
      'Detach the table and attach it again.'
    FROM %1$s.idem_tables AS t
    JOIN pg_class AS c ON c.oid = t.target
    WHERE t.target_name <> t.target::regclass::text
    ORDER BY 2, 3$sql$, home);
END
$$;

CREATE FUNCTION idem_audit(retry_window interval DEFAULT '1 hour', max_groups integer DEFAULT 20)
RETURNS TABLE (severity text, code text, object text, finding text, hint text)
LANGUAGE plpgsql STABLE CALLED ON NULL INPUT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  home CONSTANT text := (SELECT extnamespace::regnamespace FROM pg_extension WHERE extname = 'idem');
  tables oid[];
BEGIN
  IF coalesce(max_groups, 0) < 1 THEN
    RAISE EXCEPTION 'max_groups must be at least 1' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  EXECUTE format('SELECT ARRAY(SELECT c.oid FROM pg_class AS c WHERE c.oid IN (SELECT target FROM %s.idem_tables) OR c.oid = $1 '
    'ORDER BY c.oid <> coalesce($1, 0), c.oid::regclass::text COLLATE "C")', home)
    INTO tables USING to_regclass(home || '.idem_transactions')::oid;
  RETURN QUERY EXECUTE format($sql$
    SELECT f.severity, f.code, f.object, f.finding, f.hint
    FROM (
      SELECT 0::bigint AS part, i.*
      FROM %1$s._idem_audit_installation() WITH ORDINALITY AS i (severity, code, object, finding, hint, place)
      UNION ALL
      SELECT 1, d.*
      FROM %1$s._idem_audit_durability($1) WITH ORDINALITY AS d (severity, code, object, finding, hint, place)
      UNION ALL
      SELECT 1 + t.part, r.*
      FROM unnest($1) WITH ORDINALITY AS t (target, part)
      CROSS JOIN LATERAL %1$s._idem_audit_relation(t.target::regclass, $2, $3)
        WITH ORDINALITY AS r (severity, code, object, finding, hint, place)) AS f
    ORDER BY array_position(ARRAY['error', 'warning', 'notice'], f.severity), f.part, f.place$sql$, home)
    USING tables, retry_window, max_groups;
END
$$;

REVOKE ALL ON FUNCTION idem_audit(interval, integer) FROM PUBLIC;

COMMENT ON FUNCTION idem_audit(interval, integer) IS
  'what endangers the promise in this server, the ledger and the attached tables; reads only';
-- Counters of calls, in shared memory

CREATE FUNCTION _idem_stats(
  OUT datid oid,
  OUT operation text,
  OUT created bigint,
  OUT replayed bigint,
  OUT conflict bigint,
  OUT order_taken bigint,
  OUT in_progress bigint,
  OUT serialization_failures bigint,
  OUT waits bigint,
  OUT wait_time double precision,
  OUT stats_reset timestamptz)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'idem_stats'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;

-- A database that was dropped has no name any more; its counts stay, so that sums never fall.
CREATE VIEW idem_stats AS
  SELECT s.datid, d.datname, s.operation, s.created, s.replayed, s.conflict, s.order_taken, s.in_progress,
    s.serialization_failures, s.waits, s.wait_time, s.stats_reset
  FROM _idem_stats() AS s
  LEFT JOIN pg_catalog.pg_database AS d ON d.oid OPERATOR(pg_catalog.=) s.datid;

COMMENT ON VIEW idem_stats IS
  'calls counted since the server''s start or the last reset, by database and operation; needs idem in shared_preload_libraries';
COMMENT ON COLUMN idem_stats.datid IS 'the database; NULL for all operations that found the table of counters full';
COMMENT ON COLUMN idem_stats.datname IS 'its name; NULL for a database that was dropped';
COMMENT ON COLUMN idem_stats.operation IS 'the operation of the calls, or (other)';
COMMENT ON COLUMN idem_stats.created IS 'calls that inserted a row, also where their transaction was rolled back later';
COMMENT ON COLUMN idem_stats.replayed IS 'calls that returned the stored row';
COMMENT ON COLUMN idem_stats.conflict IS 'calls whose key was used with other parameters: ID001, or that outcome';
COMMENT ON COLUMN idem_stats.order_taken IS 'calls whose order_ref has another transaction: ID003, or that outcome';
COMMENT ON COLUMN idem_stats.in_progress IS 'calls that idem.busy_timeout ended: ID002';
COMMENT ON COLUMN idem_stats.serialization_failures IS 'calls that ended with 40001';
COMMENT ON COLUMN idem_stats.waits IS 'inserts that waited for a lock';
COMMENT ON COLUMN idem_stats.wait_time IS 'how long they waited in all, in milliseconds';
COMMENT ON COLUMN idem_stats.stats_reset IS 'when the counters were at zero';

CREATE FUNCTION idem_stats_reset()
RETURNS void
AS 'MODULE_PATHNAME', 'idem_stats_reset'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION idem_stats_reset() IS 'set all counters of idem_stats to zero, those of other databases too';

-- The rows tell of other databases.
REVOKE ALL ON FUNCTION _idem_stats() FROM PUBLIC;
REVOKE ALL ON FUNCTION idem_stats_reset() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION _idem_stats() TO pg_read_all_stats;
GRANT SELECT ON idem_stats TO pg_read_all_stats;
