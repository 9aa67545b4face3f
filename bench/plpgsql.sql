-- The baseline: the same job as good PL/pgSQL does it. One insert that yields to a conflict, a fetch, a comparison.
CREATE SCHEMA handwritten;

CREATE TABLE handwritten.transactions (
  tenant_id text COLLATE "C" NOT NULL,
  id uuid NOT NULL,
  operation text COLLATE "C" NOT NULL,
  idempotency_key text COLLATE "C" NOT NULL,
  request_hash bytea NOT NULL,
  amount_minor bigint NOT NULL CHECK (amount_minor > 0),
  currency text COLLATE "C" NOT NULL,
  details jsonb NOT NULL DEFAULT '{}',
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, id),
  UNIQUE (tenant_id, operation, idempotency_key)
);

CREATE FUNCTION handwritten.create_transaction(
  p_tenant text, p_key text, p_amount bigint, p_currency text, p_details jsonb, p_operation text,
  OUT id uuid, OUT outcome text)
LANGUAGE plpgsql AS $$
DECLARE
  hash bytea := sha256(convert_to(jsonb_build_array(p_operation, p_amount, p_currency, p_details)::text, 'UTF8'));
  stored_hash bytea;
BEGIN
  INSERT INTO handwritten.transactions AS t
    (tenant_id, id, operation, idempotency_key, request_hash, amount_minor, currency, details)
  VALUES (p_tenant, gen_random_uuid(), p_operation, p_key, hash, p_amount, p_currency, p_details)
  ON CONFLICT (tenant_id, operation, idempotency_key) DO NOTHING
  RETURNING t.id INTO id;
  IF FOUND THEN
    outcome := 'created';
    RETURN;
  END IF;
  SELECT t.id, t.request_hash INTO id, stored_hash
  FROM handwritten.transactions t
  WHERE t.tenant_id = p_tenant AND t.operation = p_operation AND t.idempotency_key = p_key;
  IF stored_hash <> hash THEN
    RAISE EXCEPTION 'key used with other parameters';
  END IF;
  outcome := 'replayed';
END
$$;
