-- A ledger of double entry in PL/pgSQL, as projects of that kind keep it: accounts with balances, transfers, and two
-- entries for each. It does more than the other contenders, which leave the booking to the application: a transfer locks
-- both accounts, updates their balances, and writes what they were. A key makes it idempotent.
CREATE SCHEMA double_entry;

CREATE TABLE double_entry.accounts (
  id bigint PRIMARY KEY,
  balance_minor bigint NOT NULL DEFAULT 0,
  version bigint NOT NULL DEFAULT 0,
  updated_at timestamptz NOT NULL DEFAULT now())
WITH (fillfactor = 50);

INSERT INTO double_entry.accounts (id) SELECT g FROM generate_series(0, 1999) AS g;

ANALYZE double_entry.accounts;

CREATE TABLE double_entry.transfers (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  tenant_id text COLLATE "C" NOT NULL,
  operation text COLLATE "C" NOT NULL,
  idempotency_key text COLLATE "C" NOT NULL,
  from_account bigint NOT NULL REFERENCES double_entry.accounts,
  to_account bigint NOT NULL REFERENCES double_entry.accounts,
  amount_minor bigint NOT NULL CHECK (amount_minor > 0),
  currency text COLLATE "C" NOT NULL,
  details jsonb NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (tenant_id, operation, idempotency_key));

CREATE TABLE double_entry.entries (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  transfer_id uuid NOT NULL,
  account bigint NOT NULL REFERENCES double_entry.accounts,
  amount_minor bigint NOT NULL,
  balance_minor bigint NOT NULL,
  version bigint NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now());

CREATE INDEX ON double_entry.entries (account);

CREATE INDEX ON double_entry.entries (transfer_id);

-- The accounts follow from the key: any of 1,000 pays, any other 1,000 receive, so that few calls meet at one of them.
CREATE FUNCTION double_entry.create_transfer(
  p_tenant text, p_key text, p_amount bigint, p_currency text, p_details jsonb, p_operation text,
  OUT transaction_id uuid, OUT outcome text)
LANGUAGE plpgsql AS $$
DECLARE
  payer bigint := abs(hashtext(p_key)::bigint) % 1000;
  payee bigint := 1000 + abs(hashtextextended(p_key, 1) % 1000);
  stored record;
BEGIN
  INSERT INTO double_entry.transfers AS t
    (tenant_id, operation, idempotency_key, from_account, to_account, amount_minor, currency, details)
  VALUES (p_tenant, p_operation, p_key, payer, payee, p_amount, p_currency, p_details)
  ON CONFLICT (tenant_id, operation, idempotency_key) DO NOTHING
  RETURNING t.id INTO transaction_id;
  IF transaction_id IS NULL THEN
    SELECT * INTO stored FROM double_entry.transfers AS t
    WHERE t.tenant_id = p_tenant AND t.operation = p_operation AND t.idempotency_key = p_key;
    IF (stored.amount_minor, stored.currency, stored.details) IS DISTINCT FROM (p_amount, p_currency, p_details) THEN
      RAISE 'key was used with other parameters' USING ERRCODE = 'ID001';
    END IF;
    transaction_id := stored.id;
    outcome := 'replayed';
    RETURN;
  END IF;
  -- Always in the order of ids, so that two transfers cannot deadlock.
  PERFORM FROM double_entry.accounts AS a WHERE a.id IN (payer, payee) ORDER BY a.id FOR UPDATE;
  WITH changed AS (
    UPDATE double_entry.accounts AS a
    SET balance_minor = a.balance_minor + CASE a.id WHEN payer THEN -p_amount ELSE p_amount END,
        version = a.version + 1, updated_at = now()
    WHERE a.id IN (payer, payee)
    RETURNING a.*)
  INSERT INTO double_entry.entries (transfer_id, account, amount_minor, balance_minor, version)
  SELECT create_transfer.transaction_id, c.id, CASE c.id WHEN payer THEN -p_amount ELSE p_amount END, c.balance_minor,
    c.version
  FROM changed AS c;
  outcome := 'created';
END $$;
