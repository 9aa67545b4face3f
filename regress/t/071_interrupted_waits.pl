# Whoever waits for a key can be cancelled, terminated, and shut down with the server.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use IdemTest;
use IPC::Run;
use Test::More;

my $node = new_server('interrupts');
my $waiting = q{FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%''held''%'};

# H56: cancelled from outside, again and again in one session.
{
    my $holder = $node->background_psql('postgres');
    $holder->query_safe('BEGIN; ' . create('t', 'held'));
    my $caller = $node->background_psql('postgres', on_error_stop => 0);
    $caller->query_safe('\set VERBOSITY sqlstate');
    for my $n (1 .. 25)
    {
        $caller->query_until(qr/waits/, "\\echo waits\n" . create('t', 'held') . ";\n");
        wait_until_blocked($node, '%held%') or die 'the caller does not wait';
        is($node->safe_psql('postgres', "SELECT pg_cancel_backend(pid) $waiting"), 't', "cancelled $n");
        my ($out) = $caller->query(create('t', "good $n"));
        like($out, qr/created\|/, "the next call works $n");
        like($caller->{stderr}, qr/ERROR:  57014\s*$/, "the cancelled one got 57014 $n");
        $caller->{stderr} = '';
    }
    $caller->query_until(qr/waits/, "\\echo waits\n" . create('t', 'held') . ";\n");
    wait_until_blocked($node, '%held%') or die 'the caller does not wait';
    $holder->query_safe('COMMIT');
    my ($out) = $caller->query('SELECT 1');
    like($out, qr/replayed\|/, 'after all that the session gets the row when the holder commits');
    $_->quit for $holder, $caller;
}

# A waiting caller is terminated: the holder does not notice, and nothing is left of the caller.
{
    my $holder = $node->background_psql('postgres');
    $holder->query_safe('BEGIN; ' . create('u', 'held'));
    my ($out, $err) = ('', '');
    my $caller = start_psql($node, create('u', 'held'), \$out, \$err);
    wait_until_blocked($node, '%held%') or die 'the caller does not wait';
    is($node->safe_psql('postgres', "SELECT pg_terminate_backend(pid) $waiting"), 't',
        'a waiting caller is terminated');
    $caller->finish;
    like($err, qr/57P01/, 'and told so');
    $holder->query_safe('COMMIT');
    $holder->quit;
    my ($outcome) = call($node, 'u', 'held');
    is($outcome, 'replayed', 'the row of the holder is there');
}

# The holder is terminated: the caller that waits takes its place.
{
    my $holder = $node->background_psql('postgres');
    my $pid = $holder->query_safe('SELECT pg_backend_pid()');
    $holder->query_safe('BEGIN; ' . create('v', 'held'));
    my ($out, $err) = ('', '');
    my $caller = start_psql($node, create('v', 'held'), \$out, \$err);
    wait_until_blocked($node, '%held%') or die 'the caller does not wait';
    $node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
    $caller->finish;
    like($out, qr/^created\|/, 'the waiting caller creates the row once the holder is terminated');
    eval { $holder->quit };
}

# A smart shutdown lets both of them end.
{
    my $holder = $node->background_psql('postgres');
    $holder->query_safe('BEGIN; ' . create('smart', 'held'));
    my ($out, $err, $stop_out) = ('', '', '');
    my $caller = start_psql($node, create('smart', 'held'), \$out, \$err);
    wait_until_blocked($node, '%held%') or die 'the caller does not wait';
    my $log = -s $node->logfile;
    my $stop = IPC::Run::start([ 'pg_ctl', '-D', $node->data_dir, '-m', 'smart', '-t', 3600, 'stop' ], '>', \$stop_out,
        '2>&1');
    $node->wait_for_log(qr/received smart shutdown request/, $log);
    $holder->query_safe('COMMIT');
    $caller->finish;
    like($out, qr/^replayed\|/, 'during a smart shutdown the waiting caller gets its answer');
    $holder->quit;
    $stop->finish;
    is($? >> 8, 0, 'and the server stops');
    $node->_update_pid(0);
    $node->start;
}

# Sessions that end while idem.busy_timeout keeps looking at what they wait for do not harm the server.
{
    my $started = $node->safe_psql('postgres', 'SELECT pg_postmaster_start_time()');
    $node->safe_psql(
        'postgres', q{
        CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(3600); RETURN new; END';
        CREATE TRIGGER slow BEFORE INSERT ON idem_transactions FOR EACH ROW EXECUTE FUNCTION slow()});
    for my $wave (1 .. 6)
    {
        my @callers;
        for my $caller (1 .. 8)
        {
            my ($out, $err) = ('', '');
            push @callers, start_psql($node, 'SET idem.busy_timeout = 0; ' . create('slow', "$wave-$caller"), \$out, \$err);
        }
        $node->poll_query_until('postgres', q{SELECT count(*) = 8 FROM pg_stat_activity WHERE wait_event = 'PgSleep'})
            or die 'the callers do not sleep';
        $node->safe_psql('postgres',
            q{SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'PgSleep'});
        $_->finish for @callers;
    }
    is($node->safe_psql('postgres', 'SELECT pg_postmaster_start_time()'), $started, 'terminated callers end alone');
    $node->safe_psql('postgres', 'DROP FUNCTION slow CASCADE');
}

# A statement_timeout that is due together with idem.busy_timeout is not taken for it.
{
    my $holder = $node->background_psql('postgres');
    $holder->query_safe('BEGIN; ' . create('both', 'held'));
    my %states;
    for (1 .. 40)
    {
        $states{ sqlstate($node, 'SET idem.busy_timeout = 20; SET statement_timeout = 20; ' . create('both', 'held')) }++;
    }
    is_deeply([ keys %states ], ['57014'], 'a statement_timeout keeps its SQLSTATE');
    $holder->query_safe('ROLLBACK');
    $holder->quit;
}

# A fast shutdown waits for nobody.
{
    my ($out, $err, $holder_out, $holder_err) = ('', '', '', '');
    my $holder =
        start_psql($node, 'BEGIN; ' . create('fast', 'held') . '; SELECT pg_sleep(3600)', \$holder_out, \$holder_err);
    $node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'})
        or die 'the holder does not sleep';
    my $caller = start_psql($node, create('fast', 'held'), \$out, \$err);
    $node->poll_query_until('postgres', "SELECT count(*) = 1 $waiting") or die 'the caller does not wait';
    $node->stop('fast');
    $_->finish for $holder, $caller;
    is($out, '', 'a fast shutdown ends the waiting caller without an answer');
    like($err, qr/57P01/, 'and tells it so');
    $node->start;
    my ($outcome) = call($node, 'fast', 'held');
    is($outcome, 'created', 'nothing of either is stored');
}

$node->stop;
done_testing();
