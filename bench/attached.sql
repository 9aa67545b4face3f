-- Tables like the ledger, attached: without an id, with a random one, with one from a sequence.
CREATE SCHEMA attached;

CREATE TABLE attached.plain (
  tenant_id text COLLATE "C" NOT NULL,
  operation text COLLATE "C" NOT NULL,
  idempotency_key text COLLATE "C" NOT NULL,
  request_hash bytea NOT NULL,
  amount_minor bigint NOT NULL,
  currency text COLLATE "C" NOT NULL,
  order_ref text COLLATE "C",
  details jsonb NOT NULL DEFAULT '{}',
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (tenant_id, operation, idempotency_key));

CREATE UNIQUE INDEX ON attached.plain (tenant_id, operation, order_ref) WHERE order_ref IS NOT NULL;

CREATE TABLE attached.uuid (LIKE attached.plain INCLUDING ALL, id uuid NOT NULL DEFAULT gen_random_uuid(),
  PRIMARY KEY (tenant_id, id));

CREATE TABLE attached.serial (LIKE attached.plain INCLUDING ALL, id bigserial PRIMARY KEY);

SELECT idem_attach('attached.plain', id_column => NULL), idem_attach('attached.uuid'), idem_attach('attached.serial');

