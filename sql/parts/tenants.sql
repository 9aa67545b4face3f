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
