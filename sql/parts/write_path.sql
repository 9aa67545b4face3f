-- How calls write

CREATE FUNCTION idem_write_path(
  target regclass DEFAULT NULL,
  OUT path text,
  OUT reason text)
RETURNS record
AS 'MODULE_PATHNAME', 'idem_write_path'
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE;

COMMENT ON FUNCTION idem_write_path(regclass) IS
  'whether a call by this role in this session would write to the ledger direct or by a statement, and then why; attached tables are always written to by a statement';
