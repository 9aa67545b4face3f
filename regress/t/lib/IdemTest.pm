# What the TAP tests of idem share: servers with the extension, SQLSTATEs, sessions that wait.
package IdemTest;

use strict;
use warnings;

use Exporter 'import';
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;

our @EXPORT = qw(new_server create call sqlstate start_psql wait_until_blocked run_pgbench make_barrier race);

# A running server whose database postgres has the extension; %option goes to init(), `conf` to postgresql.conf.
sub new_server
{
    my ($name, %option) = @_;
    my $conf = delete $option{conf} // '';
    my $node = PostgreSQL::Test::Cluster->new($name);
    $node->init(extra => [ '--encoding=UTF8', '--locale=C' ], %option);
    # The statements of a test with a million calls need not be logged.
    $node->append_conf('postgresql.conf', "log_statement = none\n$conf");
    $node->start;
    $node->safe_psql('postgres', 'CREATE EXTENSION idem');
    return $node;
}

# SQL of one call: a row with outcome and id.
sub create
{
    my ($tenant, $key, $amount) = @_;
    $amount //= 1000;
    return "SELECT outcome, transaction_id FROM idem_create_transaction('$tenant', '$key', $amount, 'EUR')";
}

# Call once in a session of its own; gives outcome and id.
sub call
{
    my ($node, $tenant, $key, %option) = @_;
    my $row = $node->safe_psql($option{dbname} // 'postgres', create($tenant, $key, $option{amount}));
    return split /\|/, $row;
}

# The SQLSTATE of the first error that the SQL runs into, or '' where there is none.
sub sqlstate
{
    my ($node, $sql, %option) = @_;
    my ($stdout, $stderr);
    $node->psql(
        $option{dbname} // 'postgres', $sql,
        stdout => \$stdout,
        stderr => \$stderr,
        extra_params => [ '-v', 'VERBOSITY=sqlstate' ]
    );
    return $stderr =~ /(?:ERROR|FATAL):  (\w{5})$/m ? $1 : '';
}

# Start a psql that reads `in` (SQL, or a reference to a file's name); its output goes to $$out and $$err.
sub start_psql
{
    my ($node, $in, $out, $err, %option) = @_;
    my @command = ('psql', '-XAtq', '-v', 'VERBOSITY=sqlstate', '-d', $node->connstr($option{dbname} // 'postgres'));
    push @command, '-v', 'ON_ERROR_STOP=1' if $option{stop};
    push @command, ref $in ? ('-f', $$in) : ('-c', $in);
    return IPC::Run::start(\@command, '<', \'', '>', $out, '2>', $err);
}

# Wait until `count` sessions wait for a lock in a statement that is LIKE `pattern`.
sub wait_until_blocked
{
    my ($node, $pattern, $count) = @_;
    $count //= 1;
    return $node->poll_query_until(
        'postgres', qq{
            SELECT count(*) = $count FROM pg_stat_activity
            WHERE wait_event_type = 'Lock' AND state = 'active' AND query LIKE '$pattern'}
    );
}

# Run pgbench with a script; gives its exit code and everything that it printed.
sub run_pgbench
{
    my ($node, $script, @options) = @_;
    my $file = PostgreSQL::Test::Utils::tempdir() . '/script.pgbench';
    open my $handle, '>', $file or die "could not write $file: $!";
    print $handle $script;
    close $handle;
    my $output;
    IPC::Run::run([ 'pgbench', '-n', '-f', $file, @options, $node->connstr('postgres') ], '<', \'', '>', \$output,
        '2>&1');
    return ($? >> 8, $output);
}

# The barrier of race(): a session asks for the lock of its round, which a keeper holds until all of them ask for it. It
# gives up, and lets all go on, where one of them is gone.
sub make_barrier
{
    my ($node, $sessions) = @_;
    $node->safe_psql(
        'postgres', qq{
        CREATE PROCEDURE keep_barrier(rounds int) LANGUAGE plpgsql AS \$\$
        DECLARE
            give_up timestamptz;
        BEGIN
            FOR round IN 1 .. rounds LOOP
                PERFORM pg_advisory_lock(round + 1);
                give_up := clock_timestamp() + interval '60 s';
                WHILE $sessions > (
                    SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = round AND NOT granted)
                LOOP
                    IF clock_timestamp() > give_up THEN
                        RAISE 'a session does not come to round %', round;
                    END IF;
                    PERFORM pg_sleep(0.0005);
                END LOOP;
                PERFORM pg_advisory_unlock(round);
            END LOOP;
            PERFORM pg_advisory_unlock_all();
        END \$\$;}
    );
    return;
}

# Run a pgbench script, which may use :round, in all sessions, with the barrier before each round; gives what
# run_pgbench() gives. The barrier must be made for as many sessions.
sub race
{
    my ($node, $sessions, $rounds, $script, @options) = @_;
    my $barrier = q{
        \set round :round + 1
        SELECT pg_advisory_lock_shared(:round), pg_advisory_unlock_shared(:round);
    };
    my ($out, $err) = ('', '');
    my $keeper = start_psql($node, "SELECT pg_advisory_lock(1); CALL keep_barrier($rounds)", \$out, \$err, stop => 1);
    $node->poll_query_until('postgres', q{SELECT count(*) >= 1 FROM pg_locks WHERE locktype = 'advisory' AND granted})
        or die 'no barrier';
    my ($exit, $output) =
        run_pgbench($node, $barrier . $script, '-c', $sessions, '-j', 2, '-t', $rounds, '-D', 'round=0', @options);
    $keeper->finish;
    return ($exit, $output . $err);
}

1;
