-- An update from an older version keeps rows, grants and sessions, and ends with what a fresh installation has. H52, H73
\set SHOW_CONTEXT never
SET client_min_messages = warning;
DROP ROLE IF EXISTS regress_idem_app;
CREATE ROLE regress_idem_app;

-- All that the extension consists of, and all that is said about it, without OIDs.
CREATE FUNCTION pg_temp.snapshot() RETURNS TABLE (object text, property text, value text) LANGUAGE sql AS $$
  WITH member AS (
    SELECT d.classid, d.objid, (pg_identify_object(d.classid, d.objid, d.objsubid)).identity AS object
    FROM pg_depend d JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
    WHERE e.extname = 'idem' AND d.deptype = 'e')
  SELECT m.object, v.property, v.value FROM member m, LATERAL (
    SELECT 'comment', obj_description(m.objid, m.classid::regclass::text::name)
    UNION ALL SELECT 'function', pg_get_functiondef(p.oid) FROM pg_proc p WHERE m.classid = 'pg_proc'::regclass AND p.oid = m.objid
    UNION ALL SELECT 'function ' || k, f FROM pg_proc p, jsonb_each_text(to_jsonb(p) - '{oid,prosrc,prorettype,proargtypes,proallargtypes,proargdefaults}'::text[]) j (k, f)
      WHERE m.classid = 'pg_proc'::regclass AND p.oid = m.objid AND k NOT LIKE '%arg%'
    UNION ALL SELECT 'label ' || enumsortorder, enumlabel FROM pg_enum WHERE m.classid = 'pg_type'::regclass AND enumtypid = m.objid
    UNION ALL SELECT 'type', concat_ws(' ', typowner::regrole, typtype, typacl) FROM pg_type WHERE m.classid = 'pg_type'::regclass AND oid = m.objid
    UNION ALL SELECT 'relation', concat_ws(' ', relowner::regrole, relkind, relacl, relpersistence, relrowsecurity, reloptions)
      FROM pg_class WHERE m.classid = 'pg_class'::regclass AND oid = m.objid
    UNION ALL SELECT 'view', pg_get_viewdef(oid) FROM pg_class WHERE m.classid = 'pg_class'::regclass AND oid = m.objid AND relkind = 'v'
    UNION ALL SELECT 'column ' || a.attnum, concat_ws(' ', a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attcollation::regcollation,
        a.attidentity, a.attgenerated, a.attacl, pg_get_expr(d.adbin, d.adrelid), col_description(a.attrelid, a.attnum))
      FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
      WHERE m.classid = 'pg_class'::regclass AND a.attrelid = m.objid AND a.attnum > 0
    UNION ALL SELECT 'constraint ' || conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE m.classid = 'pg_class'::regclass AND conrelid = m.objid
    UNION ALL SELECT 'index', pg_get_indexdef(indexrelid) FROM pg_index WHERE m.classid = 'pg_class'::regclass AND indrelid = m.objid
    UNION ALL SELECT 'trigger ' || tgenabled::text, pg_get_triggerdef(oid) FROM pg_trigger WHERE m.classid = 'pg_class'::regclass AND tgrelid = m.objid
    UNION ALL SELECT 'policy ' || polname, pg_get_expr(polqual, polrelid) FROM pg_policy WHERE m.classid = 'pg_class'::regclass AND polrelid = m.objid
    UNION ALL SELECT 'event trigger', concat_ws(' ', evtowner::regrole, evtevent, evtfoid::regprocedure, evtenabled, evttags)
      FROM pg_event_trigger WHERE m.classid = 'pg_event_trigger'::regclass AND oid = m.objid) v (property, value)
  UNION ALL
  SELECT 'extension', v.property, v.value FROM pg_extension e, LATERAL (VALUES ('version', e.extversion), ('owner', e.extowner::regrole::text),
    ('schema', e.extnamespace::regnamespace::text), ('configuration', e.extconfig::regclass[]::text), ('conditions', e.extcondition::text),
    ('comment', obj_description(e.oid, 'pg_extension'))) v (property, value)
  WHERE e.extname = 'idem';
$$;

-- The older version, with data, grants, and statements prepared.
DROP EXTENSION idem;
CREATE EXTENSION idem VERSION '0.0.1';
SELECT idem_grant('regress_idem_app');
PREPARE make (text, bigint) AS SELECT outcome, amount_minor, currency, details, order_ref
  FROM idem_create_transaction('t1', $1, $2, 'EUR', '{"n": 1.50}', order_ref => 'o-' || $1);
PREPARE try (text, bigint) AS SELECT outcome, amount_minor FROM idem_try_create_transaction('t1', $1, $2, 'EUR', '{"n": 1.50}', order_ref => 'o-' || $1);
SET ROLE regress_idem_app;
EXECUTE make ('k1', 1);
EXECUTE try ('k2', 2);
RESET ROLE;
SELECT count(f.outcome) FROM generate_series(1, 100) g,
  LATERAL idem_create_transaction('t' || g % 3, 'n' || g, g, 'EUR', jsonb_build_object('n', g / 3.0), order_ref => CASE WHEN g % 2 = 0 THEN 'n' || g END) f;
CREATE TEMP TABLE rows_before AS SELECT * FROM idem_transactions;

ALTER EXTENSION idem UPDATE;

-- The session goes on with its prepared statements, as the same role.
SET ROLE regress_idem_app;
EXECUTE make ('k1', 1);
EXECUTE make ('k3', 3);
EXECUTE try ('k2', 2);
EXECUTE try ('k2', 22);
RESET ROLE;
-- Not a row was touched; every key replays, and every fingerprint is what it would be today.
(TABLE rows_before EXCEPT TABLE idem_transactions) UNION ALL (SELECT * FROM idem_transactions WHERE idempotency_key <> 'k3' EXCEPT TABLE rows_before);
SELECT f.outcome, f.transaction_id = t.id AS same_id, count(*)
FROM rows_before t, LATERAL idem_create_transaction(t.tenant_id, t.idempotency_key, t.amount_minor, t.currency, t.details, t.operation, t.order_ref) f
GROUP BY 1, 2;
SELECT count(*) FROM idem_transactions WHERE request_hash <> idem_fingerprint(amount_minor, currency, details, operation, order_ref);

-- All else is as in a fresh installation.
SELECT idem_grant('regress_idem_app');
CREATE TEMP TABLE updated AS SELECT * FROM pg_temp.snapshot();
DROP EXTENSION idem;
CREATE EXTENSION idem;
SELECT idem_grant('regress_idem_app');
CREATE TEMP TABLE fresh AS SELECT * FROM pg_temp.snapshot();
SELECT 'only updated' AS side, * FROM (TABLE updated EXCEPT ALL TABLE fresh) d
UNION ALL SELECT 'only fresh', * FROM (TABLE fresh EXCEPT ALL TABLE updated) d ORDER BY 1, 2, 3, 4;
SELECT count(*) > 100 AS much_was_compared FROM fresh;
SELECT source, target, path FROM pg_extension_update_paths('idem') WHERE path IS NOT NULL AND target = idem_version() ORDER BY 1;
DROP TABLE rows_before, updated, fresh;
DEALLOCATE ALL;
DELETE FROM idem_transactions;
DROP OWNED BY regress_idem_app;
DROP ROLE regress_idem_app;
