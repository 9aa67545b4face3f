# Twins race while the indexes of the ledger are rebuilt concurrently, again and again.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use IdemTest;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;

my $rebuilds = 60;
my $node = new_server('reindex', conf => "max_connections = 50\n");
$node->safe_psql(
    'postgres', q{
    CREATE SEQUENCE ticket;
    CREATE TABLE answers (key bigint, outcome idem_outcome, id uuid);}
);

# Eight sessions take tickets; the eight tickets of one key are taken at about the same time. Half of the keys come with
# an order_ref, half without.
my $script = PostgreSQL::Test::Utils::tempdir() . '/twins.pgbench';
PostgreSQL::Test::Utils::append_to_file(
    $script, q{
SELECT (nextval('ticket') - 1) / 8 AS key \gset
SELECT outcome, transaction_id AS id FROM idem_create_transaction('reindex', 'k' || :key, 1000, 'EUR',
    order_ref => CASE WHEN :key % 2 = 0 THEN 'o' || :key END) \gset
INSERT INTO answers VALUES (:key, ':outcome', ':id');
}
);
my ($out, $err) = ('', '');
my $callers = IPC::Run::start(
    [ 'pgbench', '-n', '-f', $script, '-c', 8, '-j', 2, '-T', 3600, $node->connstr('postgres') ],
    '<', \'', '>', \$out, '2>', \$err
);
$node->poll_query_until('postgres', 'SELECT count(*) > 100 FROM answers') or die 'nobody calls';
my $failed = 0;
for my $n (1 .. $rebuilds)
{
    my $what = $n % 3 ? 'INDEX CONCURRENTLY idem_transactions_scope_key' : 'TABLE CONCURRENTLY idem_transactions';
    $failed += sqlstate($node, "REINDEX $what") ne '';
}
$callers->pump_nb;
ok($callers->pumpable, 'the callers went on until the last rebuild had ended');
$callers->kill_kill;
is($failed, 0, "$rebuilds rebuilds succeed");
is(join("\n", grep { /ERROR/ } split /\n/, $err), '', 'no caller gets an error');
is(
    $node->safe_psql(
        'postgres', q{SELECT count(*) FROM (SELECT FROM answers GROUP BY key
            HAVING count(DISTINCT id) <> 1 OR count(*) FILTER (WHERE outcome = 'created') > 1) wrong}
    ),
    0,
    'every key has one id, and is created once'
);
cmp_ok($node->safe_psql('postgres', 'SELECT count(DISTINCT key) FROM answers'), '>', $rebuilds, 'there was a race');

$node->stop;
done_testing();
