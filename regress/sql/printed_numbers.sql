-- A number with a large exponent is short in a request and in the table, and long where PostgreSQL prints it. So many of
-- them that a row could not be read or dumped any more are refused.
\set SHOW_CONTEXT never
CREATE FUNCTION pg_temp.numbers(number text, count int) RETURNS jsonb LANGUAGE sql AS $$
  SELECT jsonb_build_object('a', jsonb_agg(number::numeric)) FROM generate_series(1, count)
$$;
SELECT pg_column_size(pg_temp.numbers('1e131071', 8)) < 200 AS short, length(pg_temp.numbers('1e131071', 8)::text) AS printed;
SELECT outcome FROM idem_create_transaction('t', 'most', 1, 'EUR', pg_temp.numbers('1e131071', 8));
SELECT outcome FROM idem_create_transaction('t', 'most', 1, 'EUR', pg_temp.numbers('1e131071', 8));
SELECT outcome FROM idem_create_transaction('t', 'more', 1, 'EUR', pg_temp.numbers('1e131071', 9));
\set VERBOSITY sqlstate
SELECT n, length(pg_temp.numbers(n, c)::text) > 1048576 AS long, pg_column_size(pg_temp.numbers(n, c)) < 2500 AS short
FROM (VALUES ('-1e131071', 9), ('1e-16383', 80), ('0e-16383', 80), ('1.5e100000', 11)) AS v (n, c);
SELECT idem_create_transaction('t', 'more', 1, 'EUR', pg_temp.numbers('-1e131071', 9));
SELECT idem_try_create_transaction('t', 'more', 1, 'EUR', pg_temp.numbers('1e-16383', 80));
SELECT idem_try_create_transaction('t', 'more', 1, 'EUR', pg_temp.numbers('0e-16383', 80));
SELECT idem_fingerprint(1, 'EUR', pg_temp.numbers('1.5e100000', 11));
-- One request of a batch is refused, the others are not.
SELECT ord, outcome, sqlstate FROM idem_create_transactions('{t,t,t}', '{b1,b2,b3}', '{1,1,1}', '{EUR,EUR,EUR}',
  ARRAY['{}', pg_temp.numbers('1e131071', 9), pg_temp.numbers('1e131071', 8)]);
-- Numbers that are long because they have so many digits count for what they are, however many there are.
SELECT outcome FROM idem_create_transaction('t', 'digits', 1, 'EUR', pg_temp.numbers(repeat('7', 100000), 12));
SELECT outcome FROM idem_create_transaction('t', 'many', 1, 'EUR', pg_temp.numbers('1e12', 90000));
SELECT outcome FROM idem_create_transaction('t', 'fractions', 1, 'EUR', pg_temp.numbers('1e-10', 90000));
-- The canonical form itself has exponents, and no limit of this kind.
SELECT length(idem_canonical(pg_temp.numbers('1e131071', 100)));
-- Rows of attached tables, also in what is excluded.
CREATE TABLE regress_pay (tenant_id text NOT NULL, idempotency_key text NOT NULL, request_hash bytea, meta jsonb, rate numeric,
  UNIQUE (tenant_id, idempotency_key));
SELECT idem_attach('regress_pay', fixed_operation => 'pay', id_column => NULL, exclude => '{$.meta.seen}');
SELECT outcome FROM idem_insert('regress_pay', 't', 'one', '{"rate": 1e131071}');
SELECT outcome FROM idem_insert('regress_pay', 't', 'more', jsonb_build_object('meta', pg_temp.numbers('1e131071', 9)));
SELECT outcome FROM idem_try_insert('regress_pay', 't', 'more', jsonb_build_object('meta', jsonb_build_object('seen', pg_temp.numbers('1e131071', 9))));
SELECT idempotency_key FROM idem_transactions ORDER BY 1;
SELECT idempotency_key FROM regress_pay;
-- What was let in can be read.
SELECT count(length(t::text)) FROM idem_transactions AS t;
DROP TABLE regress_pay;
DELETE FROM idem_transactions;
