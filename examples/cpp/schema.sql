-- The business tables of the payment service. The transactions themselves are in idem's ledger.
CREATE EXTENSION IF NOT EXISTS idem;

CREATE TABLE accounts (
    account text PRIMARY KEY CHECK (account ~ '^[A-Z0-9]{1,34}$'),
    opening bigint NOT NULL,
    balance bigint NOT NULL CHECK (balance >= 0)
);

-- Two rows for each payment: what leaves one account arrives at the other. The foreign key ties them to the ledger's
-- row, and the primary key would stop a second pair, if there could be one.
CREATE TABLE postings (
    tenant_id text COLLATE "C" NOT NULL,
    transaction_id uuid NOT NULL,
    account text NOT NULL REFERENCES accounts,
    cents bigint NOT NULL,
    PRIMARY KEY (tenant_id, transaction_id, account),
    FOREIGN KEY (tenant_id, transaction_id) REFERENCES idem_transactions (tenant_id, id)
);

INSERT INTO accounts
SELECT 'A' || n, 100000, 100000 FROM generate_series(1, 10) AS n;
