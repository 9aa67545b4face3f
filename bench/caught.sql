-- pgbench stops at an error. So a raised conflict is caught in a block here, which costs every contender the same
-- subtransaction. A call that raises nothing stops the benchmark.
CREATE SCHEMA caught;

CREATE FUNCTION caught.idem(p_tenant text, p_key text, p_amount bigint, p_currency text, p_details jsonb, p_operation text)
RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM idem_create_transaction(p_tenant, p_key, p_amount, p_currency, p_details, p_operation);
  RAISE EXCEPTION 'no conflict';
EXCEPTION WHEN SQLSTATE 'ID001' THEN
  RETURN 'conflict';
END
$$;

CREATE FUNCTION caught.plpgsql(p_tenant text, p_key text, p_amount bigint, p_currency text, p_details jsonb, p_operation text)
RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM handwritten.create_transaction(p_tenant, p_key, p_amount, p_currency, p_details, p_operation);
  RAISE EXCEPTION 'no conflict';
EXCEPTION WHEN SQLSTATE 'ID001' THEN
  RETURN 'conflict';
END
$$;

CREATE FUNCTION caught.attached(p_tenant text, p_key text, p_row jsonb, p_operation text)
RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM idem_insert('attached.uuid', p_tenant, p_key, p_row, p_operation);
  RAISE EXCEPTION 'no conflict';
EXCEPTION WHEN SQLSTATE 'ID001' THEN
  RETURN 'conflict';
END
$$;

