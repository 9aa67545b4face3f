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
