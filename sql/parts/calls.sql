-- The main call

CREATE FUNCTION idem_create_transaction(
  tenant_id text,
  idempotency_key text,
  amount_minor bigint,
  currency text,
  details jsonb DEFAULT '{}',
  operation text DEFAULT 'create-transaction',
  order_ref text DEFAULT NULL,
  OUT transaction_id uuid,
  OUT outcome idem_outcome,
  OUT amount_minor bigint,
  OUT currency text,
  OUT details jsonb,
  OUT order_ref text,
  OUT created_at timestamptz)
RETURNS record
AS 'MODULE_PATHNAME', 'idem_create_transaction'
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE;

COMMENT ON FUNCTION idem_create_transaction(text, text, bigint, text, jsonb, text, text) IS
  'create a transaction once per tenant, operation and idempotency key, or replay the stored one; ID001 for a changed request, ID002 after idem.busy_timeout, ID003 for an order_ref that has another transaction';

CREATE FUNCTION idem_try_create_transaction(
  tenant_id text,
  idempotency_key text,
  amount_minor bigint,
  currency text,
  details jsonb DEFAULT '{}',
  operation text DEFAULT 'create-transaction',
  order_ref text DEFAULT NULL,
  OUT transaction_id uuid,
  OUT outcome idem_outcome,
  OUT amount_minor bigint,
  OUT currency text,
  OUT details jsonb,
  OUT order_ref text,
  OUT created_at timestamptz)
RETURNS record
AS 'MODULE_PATHNAME', 'idem_try_create_transaction'
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE;

COMMENT ON FUNCTION idem_try_create_transaction(text, text, bigint, text, jsonb, text, text) IS
  'like idem_create_transaction, but gives outcome conflict or order_taken, with NULL in all other columns, where that raises ID001 or ID003';

-- The fingerprint

CREATE FUNCTION idem_canonical(document jsonb)
RETURNS text
AS 'MODULE_PATHNAME', 'idem_canonical'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION idem_canonical(jsonb) IS
  'canonical form of a JSON document, version 1: RFC 8785 with exact decimal numbers';

CREATE FUNCTION idem_fingerprint(
  amount_minor bigint,
  currency text,
  details jsonb DEFAULT '{}',
  operation text DEFAULT 'create-transaction',
  order_ref text DEFAULT NULL)
RETURNS bytea
AS 'MODULE_PATHNAME', 'idem_fingerprint'
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE;

COMMENT ON FUNCTION idem_fingerprint(bigint, text, jsonb, text, text) IS
  'fingerprint of a request, version 1: SHA-256 of its canonical form, as stored in request_hash';

CREATE FUNCTION idem_version()
RETURNS text
AS 'MODULE_PATHNAME', 'idem_version'
LANGUAGE C STABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION idem_version() IS 'version of the loaded library; the SQL objects'' version is in pg_extension';

