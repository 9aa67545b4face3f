# Eight sessions call, for the ledger and for an attached table, while both and their indexes are rebuilt, moved and
# vacuumed under them: no call fails or is lost, and every key is created once. pg_amcheck then finds nothing.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use IdemTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $sessions = 8;
my $rounds = 2;
my $node = new_server('maintenance');

# The tickets of one key are taken by all sessions at about the same time. Each call is a transaction of its own, which
# notes its answer; a session ends when it is told to, and gives the number of its calls.
$node->safe_psql(
    'postgres', qq{
    CREATE SEQUENCE ticket;
    CREATE TABLE stop (told bool);
    CREATE TABLE answers (key bigint, outcome idem_outcome, id uuid, paid idem_outcome, payment bigint);
    CREATE TABLE payment (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, tenant_id text NOT NULL,
      idempotency_key text NOT NULL, request_hash bytea, amount numeric, invoice_no text UNIQUE,
      UNIQUE (tenant_id, idempotency_key));
    SELECT idem_attach('payment', fixed_operation => 'pay');
    CREATE PROCEDURE call_on(INOUT calls bigint) LANGUAGE plpgsql AS \$\$
    DECLARE
      key bigint;
    BEGIN
      WHILE NOT EXISTS (SELECT FROM stop) LOOP
        key := (nextval('ticket') - 1) / $sessions;
        INSERT INTO answers
        SELECT key, f.outcome, f.transaction_id, g.outcome, (g."row" ->> 'id')::bigint
        FROM idem_create_transaction('load', 'k' || key, key + 1, 'EUR', jsonb_build_object('n', key),
          order_ref => CASE WHEN key % 2 = 0 THEN 'o' || key END) AS f,
          idem_insert('payment', 'load', 'k' || key, jsonb_build_object('amount', key, 'invoice_no', 'i' || key)) AS g;
        calls := calls + 1;
        COMMIT;
      END LOOP;
    END
    \$\$;}
);

my (@psql, @out, @err);
for my $n (0 .. $sessions - 1)
{
    ($out[$n], $err[$n]) = ('', '');
    push @psql, start_psql($node, 'CALL call_on(0)', \$out[$n], \$err[$n]);
}
$node->poll_query_until('postgres', 'SELECT count(*) > 100 FROM answers') or die 'nobody calls';

my @maintenance = (
    'DROP INDEX CONCURRENTLY IF EXISTS extra_%1$s',
    'REINDEX TABLE CONCURRENTLY %1$s',
    'VACUUM FULL %1$s',
    'REINDEX INDEX CONCURRENTLY %2$s',
    'CLUSTER %1$s USING %2$s',
    'VACUUM (FREEZE, ANALYZE) %1$s',
    'REINDEX TABLE %1$s',
    'CREATE INDEX CONCURRENTLY extra_%1$s ON %1$s (request_hash)'
);
my %scope = (idem_transactions => 'idem_transactions_scope_key', payment => 'payment_tenant_id_idempotency_key_key');
for my $round (1 .. $rounds)
{
    for my $n (0 .. 2 * @maintenance - 1)
    {
        my $table = $n % 2 ? 'payment' : 'idem_transactions';
        my $statement = sprintf $maintenance[$n / 2], $table, $scope{$table};
        my $before = $node->safe_psql('postgres', 'SELECT last_value FROM ticket');
        is(sqlstate($node, $statement), '', "$statement, round $round");
        # Each session calls again after it.
        $node->poll_query_until('postgres', "SELECT last_value > $before + 2 * $sessions FROM ticket")
            or die 'nobody calls any more';
    }
}
$node->safe_psql('postgres', 'INSERT INTO stop VALUES (true)');
$_->finish for @psql;

is(join('', @err), '', 'no session got an error or a warning');
my $calls = 0;
$calls += $_ =~ /^(\d+)$/m ? $1 : 0 for @out;
is($node->safe_psql('postgres', 'SELECT count(*) FROM answers'), $calls, 'every call has its answer');
is(
    $node->safe_psql(
        'postgres', q{SELECT count(*) FROM (SELECT FROM answers GROUP BY key
            HAVING count(DISTINCT id) <> 1 OR count(DISTINCT payment) <> 1
                OR count(*) FILTER (WHERE outcome = 'created') <> 1 OR count(*) FILTER (WHERE paid = 'created') <> 1
                OR count(*) FILTER (WHERE outcome NOT IN ('created', 'replayed')) > 0
                OR count(*) FILTER (WHERE paid NOT IN ('created', 'replayed')) > 0) AS wrong}
    ),
    0,
    'every key has one id, and is created once'
);
is(
    $node->safe_psql(
        'postgres', q{SELECT count(*) FROM (SELECT DISTINCT 'k' || key, payment FROM answers) AS a (key, id)
            FULL JOIN payment AS p ON p.id = a.id AND p.idempotency_key = a.key WHERE p.id IS NULL OR a.id IS NULL}
    ),
    0,
    'the attached table has exactly the rows that were answered'
);
is(
    $node->safe_psql(
        'postgres', q{SELECT count(*) FROM (SELECT DISTINCT 'k' || key, id FROM answers) AS a (key, id)
            FULL JOIN idem_transactions AS t ON t.id = a.id AND t.idempotency_key = a.key
            WHERE t.id IS NULL OR a.id IS NULL}
    ),
    0,
    'the ledger has exactly the rows that were answered'
);
$node->command_ok(
    [ 'pg_amcheck', '--install-missing', '--heapallindexed', '--parent-check', '-t', 'idem_*', '-t', 'payment', 'postgres' ],
    'pg_amcheck finds nothing'
);

$node->stop;
done_testing();
