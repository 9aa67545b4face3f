\echo Use "ALTER EXTENSION idem UPDATE" to load this file. \quit

-- An update never touches the ledger.

