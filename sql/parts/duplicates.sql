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
