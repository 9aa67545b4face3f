# All connections are taken: whoever comes is refused with 53300, the others go on, and the refused request is served
# once there is room.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use IdemTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $most = 5;
my $node = new_server('connections', conf =>
    "max_connections = $most\nsuperuser_reserved_connections = 0\nmax_wal_senders = 0\nlog_line_prefix = '%e '\nautovacuum = off\n");

my @sessions = map { $node->background_psql('postgres') } 1 .. $most;
$sessions[0]->query_safe('BEGIN; ' . create('t', 'held'));
my ($out, $err);
isnt($node->psql('postgres', create('t', 'refused'), stdout => \$out, stderr => \$err), 0, 'one connection too many is refused');
ok($node->wait_for_log(qr/^53300 FATAL/m), 'with 53300');
for my $n (1 .. $most - 1)
{
    like($sessions[$n]->query_safe(create('t', "session $n")), qr/^created/, "session $n goes on");
}
$sessions[0]->query_safe('COMMIT');
(pop @sessions)->quit;
$node->poll_query_until('postgres', 'SELECT true') or die 'there is no room';
is((call($node, 't', 'refused'))[0], 'created', 'with room again the refused request is served');
is((call($node, 't', 'held'))[0], 'replayed', 'and those of the others replay');
is($node->safe_psql('postgres', 'SELECT count(*) FROM idem_transactions'), $most + 1, 'each is stored once');
$_->quit for @sessions;

$node->stop;
done_testing();
