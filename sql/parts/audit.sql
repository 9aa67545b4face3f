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
