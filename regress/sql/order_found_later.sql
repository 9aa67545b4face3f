-- A row that is missed by its key and found by its order a moment later is the row of that key: a replay.
SET client_min_messages = warning;
DROP ROLE IF EXISTS regress_idem_app;
CREATE ROLE regress_idem_app;
SELECT idem_grant('regress_idem_app');
CREATE SEQUENCE looks MINVALUE -10 START 1;
GRANT USAGE ON SEQUENCE looks TO regress_idem_app;
SELECT transaction_id AS id FROM idem_create_transaction('t1', 'k1', 1, 'EUR', order_ref => 'o1') \gset

-- It is hidden for two looks for its key and seen from then on, as one that is deleted and made again.
CREATE FUNCTION regress_idem_see() RETURNS bool LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RETURN nextval('looks') > 2;
END $$;
ALTER TABLE idem_transactions ENABLE ROW LEVEL SECURITY;
CREATE POLICY make ON idem_transactions FOR INSERT WITH CHECK (true);
CREATE POLICY see ON idem_transactions FOR SELECT USING (id <> :'id' OR regress_idem_see());
SET ROLE regress_idem_app;
SELECT outcome, amount_minor FROM idem_create_transaction('t1', 'k1', 1, 'EUR', order_ref => 'o1');
RESET ROLE;
SELECT setval('looks', 1, false);
SET ROLE regress_idem_app;
SELECT outcome FROM idem_try_create_transaction('t1', 'k1', 2, 'EUR', order_ref => 'o1');
-- Another key is told that the order is taken.
SELECT outcome FROM idem_try_create_transaction('t1', 'k2', 1, 'EUR', order_ref => 'o1');
RESET ROLE;
-- It is looked for again where it is missed several times.
SELECT setval('looks', -2, false);
SET ROLE regress_idem_app;
SELECT outcome FROM idem_try_create_transaction('t1', 'k1', 2, 'EUR');
RESET ROLE;

ALTER TABLE idem_transactions DISABLE ROW LEVEL SECURITY;
DROP POLICY make ON idem_transactions;
DROP POLICY see ON idem_transactions;
DROP FUNCTION regress_idem_see;
DROP SEQUENCE looks;
DELETE FROM idem_transactions;
DROP OWNED BY regress_idem_app;
DROP ROLE regress_idem_app;
