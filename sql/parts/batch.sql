-- Many requests in one call

CREATE FUNCTION idem_create_transactions(
  tenant_ids text[],
  idempotency_keys text[],
  amounts_minor bigint[],
  currencies text[],
  details jsonb[] DEFAULT NULL,
  operations text[] DEFAULT NULL,
  order_refs text[] DEFAULT NULL,
  mode text DEFAULT 'each',
  OUT ord integer,
  OUT outcome idem_outcome,
  OUT transaction_id uuid,
  OUT sqlstate text,
  OUT created_at timestamptz)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'idem_create_transactions'
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE;

COMMENT ON FUNCTION idem_create_transactions(text[], text[], bigint[], text[], jsonb[], text[], text[], text) IS
  'like idem_create_transaction for up to 100000 requests, in one statement and one order of locks; one row per request in their order; mode each reports conflict, order_taken and invalid per request, mode all raises the first one';

-- The rows that a batch inserts or looks for, for its own statements. Everybody may call it, since batches run with the
-- rights of their caller; outside of a batch it gives nothing but an error.
CREATE FUNCTION _idem_batch_rows(
  OUT place integer,
  OUT tenant_id text,
  OUT id uuid,
  OUT operation text,
  OUT idempotency_key text,
  OUT request_hash bytea,
  OUT hash_version smallint,
  OUT amount_minor bigint,
  OUT currency text,
  OUT order_ref text,
  OUT details jsonb,
  OUT created_at timestamptz)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'idem_batch_rows'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
