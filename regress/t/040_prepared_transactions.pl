# A prepared transaction holds its keys until it is decided, with no session left to wait for. H09

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use IdemTest;
use Test::More;

my $node = new_server('prepared', conf => "max_prepared_transactions = 10\n");

for my $end ('COMMIT', 'ROLLBACK')
{
    my $row = $node->safe_psql('postgres', 'BEGIN; ' . create('t', $end) . "; PREPARE TRANSACTION 'g'");
    is(sqlstate($node, "SET lock_timeout = '20ms'; " . create('t', $end)), '55P03', "a second caller waits ($end)");
    is(sqlstate($node, 'SET idem.busy_timeout = 0; ' . create('t', $end)), 'ID002',
        "or is told that the key is in progress ($end)");
    $node->restart;
    is(sqlstate($node, 'SET idem.busy_timeout = 0; ' . create('t', $end)), 'ID002', "so also after a restart ($end)");
    $node->safe_psql('postgres', "$end PREPARED 'g'");
    my ($outcome, $id) = call($node, 't', $end);
    if ($end eq 'COMMIT')
    {
        is("$outcome|$id", $row =~ s/created/replayed/r, 'after COMMIT PREPARED the key replays');
    }
    else
    {
        is($outcome, 'created', 'after ROLLBACK PREPARED it creates');
    }
}

# A caller that waits goes on when the prepared transaction is decided.
for my $end ('COMMIT', 'ROLLBACK')
{
    $node->safe_psql('postgres', 'BEGIN; ' . create('waits', $end) . "; PREPARE TRANSACTION 'g'");
    my ($out, $err) = ('', '');
    my $psql = start_psql($node, create('waits', $end), \$out, \$err);
    ok(wait_until_blocked($node, '%waits%'), 'a caller waits');
    $node->safe_psql('postgres', "$end PREPARED 'g'");
    $psql->finish;
    is($err, '', 'it gets no error');
    like($out, $end eq 'COMMIT' ? qr/^replayed/ : qr/^created/, "it gets its row after $end PREPARED");
}

# A replay holds nothing.
$node->safe_psql('postgres', 'BEGIN; ' . create('t', 'COMMIT') . "; PREPARE TRANSACTION 'g'");
is(sqlstate($node, 'SET idem.busy_timeout = 0; ' . create('t', 'COMMIT')), '', 'a prepared replay is in nobody\'s way');
$node->safe_psql('postgres', "COMMIT PREPARED 'g'");

$node->stop;
done_testing();
