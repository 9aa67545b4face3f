# Many sessions call one fresh key at the same moment, round after round. H02

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use IdemTest;
use Test::More;

my $sessions = 8;
my $node = new_server('twins', conf => "max_connections = 50\n");

make_barrier($node, $sessions);
$node->safe_psql('postgres', 'CREATE TABLE answers (session int, round int, outcome idem_outcome, id uuid)');

# In the last case half of the sessions write without a statement and half with one.
my $order = ", order_ref => 'o' || :round";
my $mixed = "\\set path :client_id % 2\nSET idem.direct_path = :path;";
for my $case ([ 'plain', 1000, '', '' ], [ 'order', 300, $order, '' ], [ 'mixed', 300, $order, $mixed ])
{
    my ($tenant, $rounds, $order_ref, $before) = @$case;
    my ($exit, $output) = race(
        $node, $sessions, $rounds, qq{
        $before
        SELECT outcome, transaction_id AS id
            FROM idem_create_transaction('$tenant', 'k' || :round, 1000, 'EUR'$order_ref) \\gset
        INSERT INTO answers VALUES (:client_id, :round, ':outcome', ':id');
    }
    );
    is($exit, 0, "$tenant: every session gets exactly one row in every round");
    unlike($output, qr/ERROR|error:/, "$tenant: without an error") or diag($output);
    is(
        $node->safe_psql(
            'postgres', q{
            SELECT count(*), min(answers), max(answers), max(ids), min(created), max(created), sum(replayed)
            FROM (SELECT count(DISTINCT session) AS answers, count(DISTINCT id) AS ids,
                    count(*) FILTER (WHERE outcome = 'created') AS created,
                    count(*) FILTER (WHERE outcome = 'replayed') AS replayed
                FROM answers GROUP BY round) r}
        ),
        join('|', $rounds, $sessions, $sessions, 1, 1, 1, $rounds * ($sessions - 1)),
        "$tenant: in every round one id, created once, and replayed to all others"
    );
    is(
        $node->safe_psql(
            'postgres',
            qq{SELECT count(*), count(DISTINCT idempotency_key) FROM idem_transactions t WHERE tenant_id = '$tenant'
                AND id = ANY (SELECT id FROM answers)}
        ),
        "$rounds|$rounds",
        "$tenant: the answers are the rows of the ledger"
    );
    $node->safe_psql('postgres', 'TRUNCATE answers');
}

# H03: whole batches of shared keys in one statement.
my $batch = q{
    FROM (SELECT g FROM generate_series(1, 200) g ORDER BY %s) k,
        LATERAL idem_create_transaction('%s', lpad(k.g::text, 3, '0') || '-' || :round, 1, 'EUR', '{}', 'batch') f;
};
{
    my $rounds = 20;
    my ($exit, $output) =
        race($node, $sessions, $rounds,
              'SELECT count(f.transaction_id) AS rows, count(DISTINCT f.transaction_id) AS ids '
            . (sprintf($batch, 'g', 'ordered') =~ s/;\s*$/ \\gset\n/r)
            . "INSERT INTO answers (session, round) SELECT :client_id, :round WHERE :rows = 200 AND :ids = 200;\n");
    is($exit, 0, 'ordered batches: no session fails');
    unlike($output, qr/ERROR|error:|deadlock/, 'ordered batches: no deadlock') or diag($output);
    is($node->safe_psql('postgres', 'SELECT count(*) FROM answers'), $rounds * $sessions,
        'ordered batches: each gives 200 rows');
    is(
        $node->safe_psql('postgres', q{SELECT count(*) FROM idem_transactions WHERE tenant_id = 'ordered'}),
        $rounds * 200, 'ordered batches: every key is stored once'
    );
}
{
    my $rounds = 10;
    $node->safe_psql('postgres', "ALTER SYSTEM SET deadlock_timeout = '20ms'");
    $node->reload;
    # pgbench counts deadlocks and goes on; any other error would end it.
    my ($exit, $output) =
        race($node, $sessions, $rounds, 'SELECT count(f.transaction_id) ' . sprintf($batch, 'random()', 'shuffled'),
        '--failures-detailed');
    is($exit, 0, 'shuffled batches: no session fails but by a deadlock');
    like($output, qr/number of serialization failures: 0 /, 'shuffled batches: no serialization failure');
    note($output);
    for my $round (1 .. $rounds)
    {
        my $again = 'SELECT count(f.transaction_id) ' . sprintf($batch, 'g', 'shuffled');
        $again =~ s/:round/$round/;
        is($node->safe_psql('postgres', $again), 200,
            "shuffled batches: a retry in order gives 200 rows in round $round");
    }
    is(
        $node->safe_psql('postgres', q{SELECT count(*) FROM idem_transactions WHERE tenant_id = 'shuffled'}),
        $rounds * 200, 'shuffled batches: every key is stored once'
    );
}

$node->stop;
done_testing();
