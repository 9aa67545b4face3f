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
