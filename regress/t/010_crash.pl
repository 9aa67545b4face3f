# A server that dies: what was committed is there and replays, whether or not the client heard of it; the rest is gone.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use IdemTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('crash', allows_streaming => 1, conf => "restart_after_crash = on\n");
my $call = create('t', 'answer lost');

# Start the SQL in a session of its own, and kill its backend the hard way as soon as it sleeps.
sub kill_asleep
{
    my ($sql) = @_;
    my ($out, $err) = ('', '');
    my $psql = start_psql($node, $sql, \$out, \$err);
    my $asleep = q{FROM pg_stat_activity WHERE wait_event = 'PgSleep'};
    $node->poll_query_until('postgres', "SELECT count(*) = 1 $asleep") or die 'the session does not sleep';
    my $pid = $node->safe_psql('postgres', "SELECT pid $asleep");
    kill 'KILL', $pid;
    $psql->finish;
    $node->poll_query_until('postgres', 'SELECT true') or die 'the server did not recover';
    return $out;
}

# H40, H69: the COMMIT was done, but the client never saw an answer.
{
    my $out = kill_asleep("BEGIN; $call; COMMIT; SELECT pg_sleep(600)");
    is($out, '', 'the client got no answer');
    my $id = $node->safe_psql('postgres', "SELECT id FROM idem_transactions WHERE idempotency_key = 'answer lost'");
    is_deeply([ call($node, 't', 'answer lost') ], [ 'replayed', $id ], 'the retry replays the committed row');
    is($node->safe_psql('postgres', 'SELECT count(*) FROM idem_transactions'), 1, 'there is one row');
}

# H70: the COMMIT never reached the server.
{
    kill_asleep("BEGIN; " . create('t', 'not committed') . "; SELECT pg_sleep(600); COMMIT");
    my ($outcome) = call($node, 't', 'not committed');
    is($outcome, 'created', 'a row that was not committed is gone, and the retry creates it');
}

# The same where the whole server is killed.
{
    my ($out, $err) = ('', '');
    my $psql = start_psql($node, "BEGIN; " . create('t', 'open') . "; SELECT pg_sleep(600); COMMIT", \$out, \$err);
    $node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'})
        or die 'the session does not sleep';
    my $before = $node->safe_psql('postgres', create('t', 'committed'));
    $node->kill9;
    $psql->finish;
    is($out, '', 'the open session got no answer');
    # Its orphans must be gone before the server starts again.
    my $started = 0;
    for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
    {
        last if $started = $node->start(fail_ok => 1);
        $node->stop('fast', fail_ok => 1);
        select undef, undef, undef, 0.1;
    }
    ok($started, 'the server starts again');
    my ($outcome, $id) = call($node, 't', 'committed');
    is("$outcome|$id", $before =~ s/created/replayed/r, 'a row from before the crash replays');
    ($outcome) = call($node, 't', 'open');
    is($outcome, 'created', 'an open one is gone');
}

# A session that is terminated while its COMMIT waits for a standby: committed here, and the client cannot know.
{
    $node->safe_psql('postgres', "ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
    $node->reload;
    my ($out, $err) = ('', '');
    my $psql = start_psql($node, create('t', 'at commit'), \$out, \$err);
    my $waiting = q{FROM pg_stat_activity WHERE wait_event = 'SyncRep'};
    $node->poll_query_until('postgres', "SELECT count(*) = 1 $waiting") or die 'the commit does not wait';
    $node->safe_psql('postgres', "SELECT pg_terminate_backend(pid) $waiting");
    $psql->finish;
    is($out, '', 'the terminated session got no answer');
    # The standby is still away: a replay writes nothing, and so has nothing to wait for.
    my ($outcome) = call($node, 't', 'at commit');
    is($outcome, 'replayed', 'its retry replays');
    $node->safe_psql('postgres', "ALTER SYSTEM RESET synchronous_standby_names");
    $node->reload;
}

# The server stops at once in the middle of a load of twins: whatever was acknowledged is in the ledger.
{
    my $file = PostgreSQL::Test::Utils::tempdir() . '/load.sql';
    open my $handle, '>', $file or die "could not write $file: $!";
    print $handle "SELECT $_, outcome, transaction_id FROM idem_create_transaction('load', 'k$_', $_, 'EUR');\n"
        for 1 .. 200_000;
    close $handle;

    my (@out, @sessions);
    for my $i (0 .. 3)
    {
        $out[$i] = '';
        my $err = '';
        push @sessions, start_psql($node, \$file, \$out[$i], \$err, stop => 1);
    }
    for my $i (0 .. 3)
    {
        $sessions[$i]->pump while $sessions[$i]->pumpable && ($out[$i] =~ tr/\n//) < 500;
    }
    $node->stop('immediate');
    $_->finish for @sessions;
    $node->start;

    my %stored = map { split /\|/ } split /\n/,
        $node->safe_psql('postgres', "SELECT amount_minor, id FROM idem_transactions WHERE tenant_id = 'load'");
    my ($acknowledged, $lost, %created) = (0, 0);
    for my $answers (@out)
    {
        # The last line may have been cut off.
        for my $answer ($answers =~ /^(.*)\n/mg)
        {
            my ($n, $outcome, $id) = split /\|/, $answer;
            ++$acknowledged;
            ++$lost if ($stored{$n} // '') ne $id;
            ++$created{$n} if $outcome eq 'created';
        }
    }
    cmp_ok($acknowledged, '>=', 2000, 'calls were acknowledged before the stop');
    is($lost, 0, 'every acknowledged id is in the ledger');
    is(scalar(grep { $_ > 1 } values %created), 0, 'no request was created twice');
    is(
        $node->safe_psql(
            'postgres',
            q{SELECT count(*) - count(DISTINCT idempotency_key) FROM idem_transactions WHERE tenant_id = 'load'}
        ),
        0,
        'there is one row per scope'
    );
    my ($outcome, $id) = call($node, 'load', 'k1', amount => 1);
    is("$outcome|$id", "replayed|$stored{1}", 'and it replays');
}

$node->stop;
done_testing();
