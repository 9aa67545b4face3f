# One session with very many calls stays as small as it was.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use IdemTest;
use Test::More;

my $calls = 1_000_000;
my $conflicts = 100_000;
my $limit = 10 * 1024 * 1024;

my $node = new_server('memory', conf => "max_wal_size = 4GB\nautovacuum = off\n");
my $has_proc = -r '/proc/self/status';

# The memory of this session: what the server counts, and what the kernel counts (0 where there is no /proc).
$node->safe_psql(
    'postgres', q{
    CREATE FUNCTION contexts() RETURNS bigint LANGUAGE sql AS
        'SELECT sum(total_bytes)::bigint FROM pg_backend_memory_contexts';
    CREATE FUNCTION anonymous() RETURNS bigint LANGUAGE sql AS $$}
        . (
        $has_proc
        ? q{SELECT 1024 * substring(pg_read_file('/proc/self/status'), 'RssAnon:\s+(\d+) kB')::bigint}
        : q{SELECT 0::bigint}
        )
        . q{$$}
);

# Run a block that raises the growth of both measures as NOTICE "growth <contexts> <anonymous>"; check them.
sub check_growth
{
    my ($name, $block) = @_;
    my ($out, $err);
    $node->psql('postgres', "SET client_min_messages = notice; DO \$do\$ $block \$do\$", stdout => \$out,
        stderr => \$err);
    like($err, qr/growth -?\d+ -?\d+/, "$name end well") or diag($err);
    my ($contexts, $anonymous) = $err =~ /growth (-?\d+) (-?\d+)/;
    cmp_ok($contexts  // $limit, '<', $limit, "$name grow the memory contexts by less than 10 MB");
    cmp_ok($anonymous // $limit, '<', $limit, "$name grow the process by less than 10 MB");
    note("growth of $name: $contexts octets in contexts, $anonymous octets of the process");
    return;
}

# H58: half of the calls replay, all in one transaction.
check_growth(
    "$calls calls in one transaction", qq{
    DECLARE
        contexts bigint;
        anonymous bigint;
        answer record;
        created int := 0;
    BEGIN
        FOR i IN 1 .. $calls LOOP
            SELECT * INTO STRICT answer FROM idem_create_transaction('memory', 'k' || (i + 1) / 2, 1000, 'EUR',
                jsonb_build_object('n', (i + 1) / 2, 'list', '[1.50, true, null]'::jsonb, 'text', repeat('x', 950)),
                order_ref => 'o' || (i + 1) / 2);
            created := created + (answer.outcome = 'created')::int;
            IF i = 10000 THEN
                contexts := contexts();
                anonymous := anonymous();
            END IF;
        END LOOP;
        IF created <> $calls / 2 THEN
            RAISE EXCEPTION '% created', created;
        END IF;
        RAISE NOTICE 'growth % %', contexts() - contexts, anonymous() - anonymous;
    END}
);

# A loop of calls that are refused, with the error caught each time.
sub check_refused
{
    my ($what, $call, $condition) = @_;
    check_growth(
        $what, qq{
    DECLARE
        contexts bigint;
        anonymous bigint;
        caught int := 0;
    BEGIN
        FOR i IN 1 .. $conflicts LOOP
            BEGIN
                PERFORM $call;
            EXCEPTION WHEN $condition THEN
                caught := caught + 1;
            END;
            IF i = 1000 THEN
                contexts := contexts();
                anonymous := anonymous();
            END IF;
        END LOOP;
        IF caught <> $conflicts THEN
            RAISE EXCEPTION '% caught', caught;
        END IF;
        RAISE NOTICE 'growth % %', contexts() - contexts, anonymous() - anonymous;
    END}
    );
    return;
}

# H57: errors are caught, and leave nothing.
check_refused("$conflicts conflicts", q{idem_create_transaction('memory', 'k' || i, 999, 'EUR',
                    jsonb_build_object('n', i, 'x', repeat('y', 950)))}, q{SQLSTATE 'ID001'});

# So do requests that are refused before anything is looked up.
check_refused("$conflicts refusals",
    q{idem_create_transaction('memory', repeat('k', 256), 1000, 'EUR', jsonb_build_object('n', i))},
    'invalid_parameter_value');

# An attached table: half of the calls replay; rows of a few sets of columns, with values of composite types.
my $inserts = 200_000;
$node->safe_psql(
    'postgres', q{
    CREATE TYPE place AS (street text, no int);
    CREATE TABLE pay (id bigserial PRIMARY KEY, tenant_id text NOT NULL, operation text NOT NULL,
        idempotency_key text NOT NULL, request_hash bytea, amount numeric(12,2), p place, meta jsonb, c1 int, c2 int, c3 int,
        c4 int, c5 int, c6 int, UNIQUE (tenant_id, operation, idempotency_key));
    SELECT idem_attach('pay', exclude => '{$.meta.at}');}
);
check_growth(
    "$inserts inserts in one transaction", qq{
    DECLARE
        contexts bigint;
        anonymous bigint;
        answer record;
        created int := 0;
    BEGIN
        FOR i IN 1 .. $inserts LOOP
            SELECT * INTO STRICT answer FROM idem_insert('pay', 'memory', 'k' || (i + 1) / 2, jsonb_build_object(
                'amount', (i + 1) / 2, 'meta', jsonb_build_object('at', i, 'text', repeat('x', 500)), 'p', '{"no": 1}'::jsonb,
                'c' || 1 + (i + 1) / 2 % 6, 1), 'op');
            created := created + (answer.outcome = 'created')::int;
            IF i = 5000 THEN
                contexts := contexts();
                anonymous := anonymous();
            END IF;
        END LOOP;
        IF created <> $inserts / 2 THEN
            RAISE EXCEPTION '% created', created;
        END IF;
        RAISE NOTICE 'growth % %', contexts() - contexts, anonymous() - anonymous;
    END}
);

# Ever new sets of columns.
check_growth(
    'inserts of 4096 sets of columns', q{
    DECLARE
        contexts bigint;
        anonymous bigint;
    BEGIN
        EXECUTE 'CREATE TABLE wide (tenant_id text NOT NULL, idempotency_key text NOT NULL, request_hash bytea, '
            || (SELECT string_agg(format('c%s int', c), ', ') FROM generate_series(0, 11) c)
            || ', UNIQUE (tenant_id, idempotency_key))';
        PERFORM idem_attach('wide', id_column => NULL, fixed_operation => 'op');
        FOR i IN 0 .. 4095 LOOP
            PERFORM idem_insert('wide', 'memory', 'k' || i, (SELECT coalesce(jsonb_object_agg('c' || c, i), '{}')
                FROM generate_series(0, 11) c WHERE i >> c & 1 = 1));
            IF i = 500 THEN
                contexts := contexts();
                anonymous := anonymous();
            END IF;
        END LOOP;
        RAISE NOTICE 'growth % %', contexts() - contexts, anonymous() - anonymous;
    END}
);

$conflicts = 10_000;
check_refused("$conflicts conflicts of an attached table",
    q{idem_insert('pay', 'memory', 'k' || i, jsonb_build_object('amount', -i), 'op')}, q{SQLSTATE 'ID001'});
check_refused("$conflicts rows that the table refuses",
    q{idem_insert('pay', 'memory', 'x' || i, jsonb_build_object('amount', 'x', 'meta', repeat('x', 500)), 'op')},
    'invalid_text_representation');
# Definitions that change all the time.
check_growth(
    'a table that is altered 1000 times', q{
    DECLARE
        contexts bigint;
        anonymous bigint;
    BEGIN
        FOR i IN 1 .. 1000 LOOP
            EXECUTE format('ALTER TABLE wide ALTER c1 SET DEFAULT %s', i);
            PERFORM idem_insert('wide', 'memory', 'altered' || i, '{"c2": 1}');
            IF i = 100 THEN
                contexts := contexts();
                anonymous := anonymous();
            END IF;
        END LOOP;
        RAISE NOTICE 'growth % %', contexts() - contexts, anonymous() - anonymous;
    END}
);

$node->stop;
done_testing();
