-- Tables like the ledger for the statements that applications send themselves.
CREATE SCHEMA raw;

CREATE TABLE raw.transactions (LIKE idem_transactions INCLUDING ALL);

CREATE SCHEMA seed;

CREATE TABLE seed.transactions (LIKE idem_transactions INCLUDING ALL);

