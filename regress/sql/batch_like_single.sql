-- The outcomes of a batch are those of single calls, made one after the other in the order of the input.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SET client_min_messages = warning;
TRUNCATE idem_transactions;

-- Answers with the keys of the rows that they name.
CREATE FUNCTION pg_temp.with_keys(answers text[], ids uuid[]) RETURNS text[] LANGUAGE sql AS $$
  SELECT array_agg(concat_ws(' ', answers[i], (SELECT idempotency_key FROM idem_transactions WHERE id = ids[i])) ORDER BY i)
  FROM generate_subscripts(answers, 1) i
$$;

-- Make random batches, over few keys and orders so that these meet; answer them in both ways, and count where the
-- answers or the rows that are left differ.
CREATE FUNCTION pg_temp.compare(rounds int, OUT requests bigint, OUT created bigint, OUT replayed bigint, OUT conflict bigint,
  OUT order_taken bigint, OUT invalid bigint, OUT different bigint) LANGUAGE plpgsql AS $$
DECLARE
  size int;
  keys text[]; amounts bigint[]; orders text[];
  batch text[]; single text[]; batch_rows text[]; single_rows text[];
  answer text; id uuid; ids uuid[];
BEGIN
  requests := 0; created := 0; replayed := 0; conflict := 0; order_taken := 0; invalid := 0; different := 0;
  FOR round IN 1 .. rounds LOOP
    size := 1 + random() * 12;
    SELECT array_agg('k' || (random() * 6)::int), array_agg((random() * 2.2)::bigint),
      array_agg(CASE WHEN random() < 0.6 THEN 'o' || (random() * 3)::int END)
    INTO keys, amounts, orders FROM generate_series(1, size);
    DELETE FROM idem_transactions;
    PERFORM idem_try_create_transaction('t', 'k' || g, 1, 'EUR', order_ref => 'o' || g) FROM generate_series(0, (random() * 3)::int) g;
    BEGIN
      SELECT array_agg(concat_ws(' ', ord, outcome, sqlstate) ORDER BY ord), array_agg(transaction_id ORDER BY ord)
      INTO batch, ids FROM idem_create_transactions('{t}', keys, amounts, '{EUR}', order_refs => orders);
      batch := pg_temp.with_keys(batch, ids);
      SELECT array_agg(idempotency_key || amount_minor || coalesce(order_ref, '')) INTO batch_rows FROM idem_transactions;
      RAISE EXCEPTION 'undo';
    EXCEPTION WHEN raise_exception THEN
    END;
    single := '{}';
    ids := '{}';
    FOR i IN 1 .. size LOOP
      BEGIN
        SELECT concat_ws(' ', i, outcome, CASE outcome WHEN 'conflict' THEN 'ID001' WHEN 'order_taken' THEN 'ID003' END), transaction_id
        INTO answer, id FROM idem_try_create_transaction('t', keys[i], amounts[i], 'EUR', order_ref => orders[i]);
      EXCEPTION WHEN invalid_parameter_value OR null_value_not_allowed THEN
        answer := concat_ws(' ', i, 'invalid', SQLSTATE);
        id := NULL;
      END;
      single := single || answer;
      ids := ids || id;
    END LOOP;
    single := pg_temp.with_keys(single, ids);
    SELECT array_agg(idempotency_key || amount_minor || coalesce(order_ref, '')) INTO single_rows FROM idem_transactions;
    requests := requests + size;
    SELECT created + count(*) FILTER (WHERE a LIKE '% created%'), replayed + count(*) FILTER (WHERE a LIKE '% replayed%'),
      conflict + count(*) FILTER (WHERE a LIKE '% conflict%'), order_taken + count(*) FILTER (WHERE a LIKE '% order_taken%'),
      invalid + count(*) FILTER (WHERE a LIKE '% invalid%')
    INTO created, replayed, conflict, order_taken, invalid FROM unnest(batch) a;
    IF batch IS DISTINCT FROM single OR (SELECT array_agg(r ORDER BY r) FROM unnest(batch_rows) r)
      IS DISTINCT FROM (SELECT array_agg(r ORDER BY r) FROM unnest(single_rows) r)
    THEN
      different := different + 1;
      RAISE WARNING '% % %: % instead of %', keys, amounts, orders, batch, single;
    END IF;
  END LOOP;
  DELETE FROM idem_transactions;
END $$;

CREATE FUNCTION pg_temp.all_met(rounds int) RETURNS TABLE (every_outcome_met boolean, different bigint) LANGUAGE sql AS $$
  SELECT least(created, replayed, conflict, order_taken, invalid) > rounds / 5, different FROM pg_temp.compare(rounds)
$$;

-- A plain ledger.
SELECT setseed(0.25);
SELECT * FROM pg_temp.all_met(300);
-- One whose inserts have effects, so that calls look first.
ALTER TABLE idem_transactions ADD CONSTRAINT regress_check CHECK (amount_minor < 1000);
SELECT * FROM pg_temp.all_met(200);
ALTER TABLE idem_transactions DROP CONSTRAINT regress_check;
-- With a trigger that may change rows.
CREATE FUNCTION regress_details() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.details := '{"by": "trigger"}'; RETURN NEW; END $$;
CREATE TRIGGER regress_details BEFORE INSERT ON idem_transactions FOR EACH ROW EXECUTE FUNCTION regress_details();
SELECT * FROM pg_temp.all_met(100);
DROP TRIGGER regress_details ON idem_transactions;
DROP FUNCTION regress_details;
-- Under a snapshot that stays.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT * FROM pg_temp.all_met(100);
COMMIT;
-- Partitioned.
BEGIN;
DROP EXTENSION idem;
ALTER TABLE idem_transactions RENAME TO regress_plain;
CREATE TABLE idem_transactions (LIKE regress_plain INCLUDING DEFAULTS,
  PRIMARY KEY (tenant_id, id), UNIQUE (tenant_id, operation, idempotency_key)) PARTITION BY HASH (tenant_id);
CREATE UNIQUE INDEX ON idem_transactions (tenant_id, operation, order_ref);
CREATE TABLE regress_0 PARTITION OF idem_transactions FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE regress_1 PARTITION OF idem_transactions FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE EXTENSION idem;
SELECT * FROM pg_temp.all_met(100);
ROLLBACK;
