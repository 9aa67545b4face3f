-- Tables like the ledger for the statements that applications send themselves.
CREATE SCHEMA raw;

CREATE TABLE raw.transactions (LIKE idem_transactions INCLUDING ALL);

-- What COPY reads has no keys, so that it can be read again and again: rising keys come from a default.
CREATE SEQUENCE raw.keys CACHE 1000;

ALTER TABLE raw.transactions
  ALTER id SET DEFAULT gen_random_uuid(),
  ALTER idempotency_key SET DEFAULT nextval('raw.keys')::text || '-7000-8000-0192f3a47c5e';

CREATE SCHEMA seed;

CREATE TABLE seed.transactions (LIKE idem_transactions INCLUDING ALL);

