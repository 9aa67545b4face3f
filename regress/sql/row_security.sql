-- Policies of the ledger hold inside the calls: a role sees and makes only what they allow.
\set VERBOSITY sqlstate
\set SHOW_CONTEXT never
SET client_min_messages = warning;
DROP ROLE IF EXISTS regress_idem_app, regress_idem_owner;
CREATE ROLE regress_idem_app;
SELECT idem_grant('regress_idem_app');

-- H63: one policy by tenant. The owner is not bound by it.
ALTER TABLE idem_transactions ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON idem_transactions USING (tenant_id = current_setting('app.tenant'));
SELECT outcome FROM idem_create_transaction('t1', 'k1', 1, 'EUR', '{"secret": 1}', order_ref => 'o1');
SELECT outcome FROM idem_create_transaction('t2', 'k1', 2, 'EUR', '{"secret": 2}', order_ref => 'o1');
SET ROLE regress_idem_app;
SET app.tenant = 't2';
SELECT outcome, amount_minor, details FROM idem_create_transaction('t2', 'k1', 2, 'EUR', '{"secret": 2}', order_ref => 'o1');
SELECT outcome FROM idem_create_transaction('t2', 'k2', 2, 'EUR');
SELECT idem_create_transaction('t2', 'k1', 3, 'EUR');
SELECT idem_create_transaction('t2', 'k3', 3, 'EUR', order_ref => 'o1');
SELECT tenant_id, idempotency_key FROM idem_transactions ORDER BY 1, 2;
-- For another tenant: neither an answer nor a row, whether the key exists, differs or is new.
SELECT idem_create_transaction('t1', 'k1', 1, 'EUR', '{"secret": 1}', order_ref => 'o1');
SELECT idem_create_transaction('t1', 'k1', 7, 'EUR');
SELECT idem_create_transaction('t1', 'new', 7, 'EUR');
SELECT idem_create_transaction('t1', 'new', 7, 'EUR', order_ref => 'o1');
SELECT idem_try_create_transaction('t1', 'k1', 7, 'EUR');
\set VERBOSITY default
SELECT idem_create_transaction('t1', 'k1', 7, 'EUR', '{"secret": 7}');
\set VERBOSITY sqlstate
RESET ROLE;
SELECT tenant_id, idempotency_key FROM idem_transactions ORDER BY 1, 2;
-- The same session as another tenant.
SET ROLE regress_idem_app;
SET app.tenant = 't1';
SELECT outcome, amount_minor, details FROM idem_create_transaction('t1', 'k1', 1, 'EUR', '{"secret": 1}', order_ref => 'o1');
SELECT idem_create_transaction('t2', 'k1', 2, 'EUR', '{"secret": 2}', order_ref => 'o1');
-- With row_security off a call that a policy would filter is refused.
SET row_security = off;
SELECT idem_create_transaction('t1', 'k1', 1, 'EUR', '{"secret": 1}', order_ref => 'o1');
RESET row_security;
RESET ROLE;
DROP POLICY tenant ON idem_transactions;
-- No policy at all: nothing may be seen or made.
SET ROLE regress_idem_app;
SELECT idem_create_transaction('t1', 'k1', 1, 'EUR', '{"secret": 1}', order_ref => 'o1');
RESET ROLE;
DELETE FROM idem_transactions;

-- H64: the winner is there but hidden: an error, not an empty answer and not an endless loop.
CREATE POLICY make ON idem_transactions FOR INSERT WITH CHECK (true);
CREATE POLICY see ON idem_transactions FOR SELECT USING (details->>'hidden' IS NULL);
SELECT outcome FROM idem_create_transaction('t1', 'k1', 1, 'EUR', '{"hidden": 424242}', order_ref => 'o1');
SET ROLE regress_idem_app;
SELECT idem_create_transaction('t1', 'k1', 1, 'EUR');
SELECT idem_try_create_transaction('t1', 'k1', 1, 'EUR');
SELECT idem_create_transaction('t1', 'k1', 1, 'EUR', order_ref => 'o2');
-- An order that a hidden row has taken.
SELECT idem_create_transaction('t1', 'k2', 1, 'EUR', order_ref => 'o1');
SELECT idem_try_create_transaction('t1', 'k2', 1, 'EUR', order_ref => 'o1');
\set VERBOSITY default
SELECT idem_create_transaction('t1', 'k1', 1, 'EUR');
SELECT idem_create_transaction('t1', 'k2', 1, 'EUR', order_ref => 'o1');
\set VERBOSITY sqlstate
-- A row that its maker would not see is not made, with an order or without.
SELECT idem_create_transaction('t1', 'k3', 1, 'EUR', '{"hidden": 1}');
SELECT idem_create_transaction('t1', 'k3', 1, 'EUR', '{"hidden": 1}', order_ref => 'o3');
SELECT outcome FROM idem_create_transaction('t1', 'k3', 1, 'EUR', order_ref => 'o3');
RESET ROLE;
SELECT idempotency_key FROM idem_transactions ORDER BY 1;
DROP POLICY see ON idem_transactions;
DELETE FROM idem_transactions;

-- H64: a further unique key across what the policy hides: the clash is named, the other tenant's row is not.
CREATE UNIQUE INDEX regress_key_only ON idem_transactions (idempotency_key);
CREATE POLICY see ON idem_transactions FOR SELECT USING (tenant_id = current_setting('app.tenant'));
SELECT outcome FROM idem_create_transaction('t1', 'k1', 424242, 'EUR');
SET ROLE regress_idem_app;
SET app.tenant = 't2';
SELECT idem_create_transaction('t2', 'k1', 1, 'EUR');
SELECT idem_try_create_transaction('t2', 'k1', 1, 'EUR', order_ref => 'o1');
\set VERBOSITY terse
SELECT idem_create_transaction('t2', 'k1', 1, 'EUR');
\set VERBOSITY sqlstate
RESET ROLE;
SELECT tenant_id FROM idem_transactions;
DROP INDEX regress_key_only;
DROP POLICY see ON idem_transactions;
DELETE FROM idem_transactions;

-- A row that is hidden for just one look, as one that comes and goes: the call looks again and replays it.
CREATE SEQUENCE looks;
GRANT USAGE ON SEQUENCE looks TO regress_idem_app;
SELECT transaction_id AS id FROM idem_create_transaction('t1', 'k1', 1, 'EUR') \gset
CREATE FUNCTION regress_idem_see(hidden_looks int) RETURNS bool LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RETURN nextval('looks') > hidden_looks;
END $$;
CREATE POLICY see ON idem_transactions FOR SELECT USING (id <> :'id' OR regress_idem_see(1));
SET ROLE regress_idem_app;
SELECT outcome, amount_minor FROM idem_create_transaction('t1', 'k1', 1, 'EUR');
RESET ROLE;
SELECT last_value > 1 AS looked_again FROM looks;
DROP POLICY see ON idem_transactions;
DROP FUNCTION regress_idem_see;
DROP SEQUENCE looks;
DROP POLICY make ON idem_transactions;
ALTER TABLE idem_transactions DISABLE ROW LEVEL SECURITY;
DELETE FROM idem_transactions;

-- A policy that no longer lets the role insert does not keep it from a replay.
ALTER TABLE idem_transactions ENABLE ROW LEVEL SECURITY;
CREATE POLICY see ON idem_transactions FOR SELECT USING (true);
CREATE POLICY make ON idem_transactions FOR INSERT WITH CHECK (current_setting('app.open', true) = 'on');
SET ROLE regress_idem_app;
SET app.open = 'on';
SELECT outcome FROM idem_create_transaction('t1', 'open', 1, 'EUR');
SET app.open = 'off';
SELECT outcome FROM idem_create_transaction('t1', 'open', 1, 'EUR');
SELECT idem_create_transaction('t1', 'closed', 1, 'EUR');
RESET ROLE;
-- A policy that sets what a read sets leaves the session as it was.
CREATE FUNCTION regress_idem_policy() RETURNS bool LANGUAGE plpgsql STABLE AS $$
BEGIN
  PERFORM set_config('enable_seqscan', 'on', true);
  RETURN true;
END $$;
DROP POLICY see ON idem_transactions;
CREATE POLICY see ON idem_transactions FOR SELECT USING (regress_idem_policy());
SET ROLE regress_idem_app;
SELECT setting AS before FROM pg_settings WHERE name = 'enable_seqscan' \gset
SELECT outcome FROM idem_create_transaction('t1', 'open', 1, 'EUR');
SELECT setting = :'before' AS unchanged FROM pg_settings WHERE name = 'enable_seqscan';
RESET ROLE;
DROP POLICY see ON idem_transactions;
DROP POLICY make ON idem_transactions;
DROP FUNCTION regress_idem_policy;
ALTER TABLE idem_transactions DISABLE ROW LEVEL SECURITY;
DELETE FROM idem_transactions;

-- FORCE binds the owner of the ledger too, where that is the owner of the schema and no superuser.
CREATE ROLE regress_idem_owner;
BEGIN;
DROP EXTENSION idem;
CREATE SCHEMA regress_idem AUTHORIZATION regress_idem_owner;
CREATE EXTENSION idem SCHEMA regress_idem;
ALTER TABLE regress_idem.idem_transactions OWNER TO regress_idem_owner;
ALTER TABLE regress_idem.idem_transactions ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON regress_idem.idem_transactions USING (tenant_id = 't1');
\set ON_ERROR_ROLLBACK on
SET LOCAL ROLE regress_idem_owner;
SELECT outcome FROM regress_idem.idem_create_transaction('t2', 'k1', 1, 'EUR');
ALTER TABLE regress_idem.idem_transactions FORCE ROW LEVEL SECURITY;
SELECT outcome FROM regress_idem.idem_create_transaction('t1', 'k1', 1, 'EUR');
SELECT regress_idem.idem_create_transaction('t2', 'k1', 1, 'EUR');
SELECT regress_idem.idem_create_transaction('t2', 'k2', 1, 'EUR');
SELECT tenant_id FROM regress_idem.idem_transactions ORDER BY tenant_id;
\set ON_ERROR_ROLLBACK off
ROLLBACK;
DROP ROLE regress_idem_owner;
DROP OWNED BY regress_idem_app;
DROP ROLE regress_idem_app;
