-- Who may change which of the settings: what is for superusers stays so on every way on which a setting can be made.
\set VERBOSITY sqlstate
\set superuser :USER
\set SHOW_CONTEXT never
SET client_min_messages = warning;
DROP ROLE IF EXISTS regress_idem_app;
CREATE ROLE regress_idem_app LOGIN;
GRANT CREATE ON SCHEMA public TO regress_idem_app;
SELECT idem_version() IS NOT NULL AS loaded;
SELECT name, context FROM pg_settings WHERE name LIKE 'idem.%' ORDER BY name COLLATE "C";

SET ROLE regress_idem_app;
-- Its own calls.
SET idem.busy_timeout = 5;
SET idem.direct_path = off;
SET idem.tenant_id = 't';
RESET ALL;
-- Whether calls are told of in the log: by SET, for a function, a role, a database, and by name.
SET idem.log_outcomes = 'none';
SELECT set_config('idem.log_outcomes', 'all', true);
CREATE FUNCTION quiet() RETURNS void LANGUAGE sql SET idem.log_outcomes = 'none' AS 'SELECT';
ALTER ROLE regress_idem_app SET idem.log_outcomes = 'none';
ALTER ROLE CURRENT_USER SET idem.log_outcomes = 'none';
UPDATE pg_settings SET setting = 'none' WHERE name = 'idem.log_outcomes';
-- Names that are none, in place of one that was mistyped.
SET idem.tenant = 't';
SET idem.log_outcome = 'none';
RESET ROLE;
SELECT unnest(setconfig) FROM pg_db_role_setting WHERE setrole = 'regress_idem_app'::regrole;

-- Made before the library is loaded, when nothing knows yet what it means.
\c -
SET client_min_messages = error;
SET ROLE regress_idem_app;
SET idem.log_outcomes = 'all';
SET idem.busy_timeout = 7;
SET idem.tenant_id = 't';
SELECT idem_version() IS NOT NULL AS loaded;
SHOW idem.log_outcomes;
SHOW idem.busy_timeout;
SHOW idem.tenant_id;
RESET ROLE;
SHOW idem.log_outcomes;
-- And on the way in, as a role of its own may be configured by itself.
\c -
SET client_min_messages = error;
SET ROLE regress_idem_app;
ALTER ROLE CURRENT_USER SET idem.log_outcomes = 'all';
RESET ROLE;
\c - regress_idem_app
SET client_min_messages = error;
SELECT idem_version() IS NOT NULL AS loaded;
SHOW idem.log_outcomes;
-- What a superuser sets for the role does count.
\c - :superuser
ALTER ROLE regress_idem_app RESET ALL;
ALTER ROLE regress_idem_app SET idem.log_outcomes = 'conflict';
\c - regress_idem_app
SELECT idem_version() IS NOT NULL AS loaded;
SHOW idem.log_outcomes;
\c - :superuser
REVOKE CREATE ON SCHEMA public FROM regress_idem_app;
DROP ROLE regress_idem_app;
