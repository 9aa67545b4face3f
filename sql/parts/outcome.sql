\echo Use "CREATE EXTENSION idem" to load this file. \quit

-- The target schema comes first in search_path while this script runs. No object of the script is created with
-- OR REPLACE or IF NOT EXISTS, so that none that somebody planted is adopted.

CREATE TYPE idem_outcome AS ENUM ('created', 'replayed', 'conflict', 'order_taken', 'invalid');

COMMENT ON TYPE idem_outcome IS
  'what a call did: created (row inserted now), replayed (the original row), conflict (key used with other parameters), order_taken (order_ref has another transaction), invalid (malformed row of a batch)';

