-- The baseline: the same job as good PL/pgSQL does it, on a table with the columns and indexes of the ledger. One insert
-- that yields to a conflict, a fetch, a comparison. Wherever it could go either way it is spared work: it does not check
-- the form of keys, compares numbers as jsonb prints them, returns no values that the caller has sent itself, and leaves
-- an order_ref that is taken to the error of the index. The amount is checked here, which costs less than a CHECK.
CREATE SCHEMA handwritten;

CREATE TABLE handwritten.transactions (
  tenant_id text COLLATE "C" NOT NULL,
  id uuid NOT NULL,
  operation text COLLATE "C" NOT NULL,
  idempotency_key text COLLATE "C" NOT NULL,
  request_hash bytea NOT NULL,
  amount_minor bigint NOT NULL,
  currency text COLLATE "C" NOT NULL,
  order_ref text COLLATE "C",
  details jsonb NOT NULL DEFAULT '{}',
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, id),
  UNIQUE (tenant_id, operation, idempotency_key)
);

CREATE UNIQUE INDEX ON handwritten.transactions (tenant_id, operation, order_ref) WHERE order_ref IS NOT NULL;

CREATE FUNCTION handwritten.create_transaction(
  p_tenant text, p_key text, p_amount bigint, p_currency text, p_details jsonb, p_operation text,
  p_order_ref text DEFAULT NULL,
  OUT transaction_id uuid, OUT outcome text, OUT created_at timestamptz)
LANGUAGE plpgsql AS $$
DECLARE
  hash bytea := sha256(convert_to(
    jsonb_build_array(p_operation, p_amount, p_currency, p_details, p_order_ref)::text, 'UTF8'));
  stored_hash bytea;
BEGIN
  IF p_amount <= 0 THEN
    RAISE EXCEPTION 'amount must be positive' USING ERRCODE = '22023';
  END IF;
  INSERT INTO handwritten.transactions AS t
    (tenant_id, id, operation, idempotency_key, request_hash, amount_minor, currency, order_ref, details)
  VALUES (p_tenant, gen_random_uuid(), p_operation, p_key, hash, p_amount, p_currency, p_order_ref, p_details)
  ON CONFLICT (tenant_id, operation, idempotency_key) DO NOTHING
  RETURNING t.id, t.created_at INTO transaction_id, created_at;
  IF FOUND THEN
    outcome := 'created';
    RETURN;
  END IF;
  SELECT t.id, t.created_at, t.request_hash INTO transaction_id, created_at, stored_hash
  FROM handwritten.transactions t
  WHERE t.tenant_id = p_tenant AND t.operation = p_operation AND t.idempotency_key = p_key;
  IF stored_hash <> hash THEN
    RAISE EXCEPTION 'key used with other parameters' USING ERRCODE = 'ID001';
  END IF;
  outcome := 'replayed';
END
$$;

