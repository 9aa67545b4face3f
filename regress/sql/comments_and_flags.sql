-- Every public object has a comment, and every function the flags that its callers and plans rely on.
CREATE TEMP VIEW member AS
  SELECT p.oid, p.proname, p.proacl, p.provolatile, p.proisstrict, p.proparallel, p.prosecdef, p.prorettype, p.proleakproof, p.proconfig, l.lanname
  FROM pg_depend d JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid JOIN pg_language l ON l.oid = p.prolang
  WHERE d.deptype = 'e' AND d.refclassid = 'pg_extension'::regclass
    AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'idem');

-- Objects of the extension without a comment: none but internals.
SELECT pg_describe_object(classid, objid, objsubid) AS without_comment FROM pg_depend
WHERE deptype = 'e' AND refclassid = 'pg_extension'::regclass AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'idem')
  AND obj_description(objid, classid::regclass::name) IS NULL
  AND pg_describe_object(classid, objid, objsubid) !~ ' (\w+\.)?_idem_'
  AND NOT EXISTS (SELECT FROM pg_type t WHERE classid = 'pg_type'::regclass AND t.oid = objid AND (t.typelem <> 0 OR t.typrelid <> 0))
ORDER BY 1;
SELECT obj_description('idem_transactions'::regclass, 'pg_class') IS NOT NULL AS ledger_has_comment,
  obj_description(oid, 'pg_extension') IS NOT NULL AS extension_has_comment FROM pg_extension WHERE extname = 'idem';

-- All names carry the prefix.
SELECT proname FROM member WHERE proname !~ '^_?idem_' ORDER BY 1;

-- Volatility, strictness, parallel safety.
SELECT proname, lanname, provolatile, proisstrict, proparallel FROM member
WHERE proname IN ('idem_create_transaction', 'idem_try_create_transaction', 'idem_canonical', 'idem_fingerprint', 'idem_version',
  'idem_create_ledger', 'idem_grant', '_idem_check_ledger', 'idem_attach', 'idem_detach', 'idem_insert', 'idem_try_insert',
  '_idem_key_problem', 'idem_audit', 'idem_audit_table', 'idem_find_duplicates', 'idem_enable_tenant_isolation',
  'idem_disable_tenant_isolation', '_idem_tenant_tables', 'idem_write_path') ORDER BY proname COLLATE "C";
-- Nothing runs as its owner but what event triggers call, nothing claims to be leakproof, and nothing in SQL or
-- PL/pgSQL sees the caller's search path.
SELECT proname, prorettype::regtype FROM member WHERE prosecdef OR proleakproof ORDER BY 1;
SELECT proname, proconfig FROM member
WHERE lanname IN ('plpgsql', 'sql') AND 'search_path=pg_catalog, pg_temp' = ANY (proconfig) IS NOT TRUE ORDER BY 1;
-- What is not for everybody.
SELECT proname FROM member WHERE NOT EXISTS (SELECT FROM aclexplode(coalesce(proacl, acldefault('f', 10))) WHERE grantee = 0)
ORDER BY proname COLLATE "C";

-- The outcomes, in their order.
SELECT unnest(enum_range(NULL::idem_outcome)) AS outcome;

-- Installation: where it is put, and not to be moved.
SELECT relocatable, superuser, trusted, requires, schema FROM pg_available_extension_versions
WHERE name = 'idem' AND version = (SELECT extversion FROM pg_extension WHERE extname = 'idem');
SELECT idem_version() = extversion AS library_is_of_this_version FROM pg_extension WHERE extname = 'idem';
DROP VIEW member;
